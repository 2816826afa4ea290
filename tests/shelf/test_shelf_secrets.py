"""Secrets are found wherever they stand in a text, and never by a search that a text can make long."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.evidence.shelf.bounds import HINTS, MOST_SUSPECT_CHARS, blanked, refuse_secrets

SECRETS = [
    "api_key: abcdefgh",
    'HF_TOKEN="abcdefgh"',
    "password=hunter22",
    "--auth-token abcdefgh",
    "client_secret: abcdefgh",
    "DB_PAT=abcdefgh",
    "Authorization: Bearer abcdefgh",
    "bearer abcdefghij",
    "basic abcdefghij==",
    "hf_abcdefghijklmnopqrst",
    "sk-abcdefghijklmnopqrst",
    "ghp_abcdefghijklmnopqrstuv",
    "github_pat_abcdefghijklmnopqrstuv",
    "nvapi-abcdefghijklmnopqrst",
    "AKIAABCDEFGHIJKLMNOP",
    "ASIAABCDEFGHIJKLMNOP",
    "xoxb-abcdefghijkl",
    "AIza" + "a" * 35,
    "eyJabcdefghijk.abcdefghijkl.abc",
    "glpat-abcdefghijklmnopqrst",
    "cabida_" + "a" * 43,
    "https://user:hunter22@example.org",
    "https://example.org/x?sig=abcdefgh",
    "https://example.org/x?a=b&X-Amz-Signature=abcdefgh",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "note: ", "x " * 1_990, "y" * 50_000 + " "], ids=len)
def test_a_secret_is_found_wherever_it_stands(secret, before):
    text = f"name: a\n{before}{secret} and more\nhorizon: 1 month\n"
    with pytest.raises(InvalidInput) as refused:
        refuse_secrets(text)
    assert [one.line for one in refused.value.problems] == [2]
    hidden = blanked({"a": [text]})["a"][0]
    assert "hunter22" not in hidden
    assert "abcdefgh" not in hidden.lower()
    assert hidden.endswith("horizon: 1 month\n")


@pytest.mark.parametrize("secret", SECRETS)
def test_every_secret_comes_with_one_of_the_words(secret):
    assert redacted(secret) != secret
    assert any(word in secret.lower() for word in HINTS)


def test_a_long_text_without_secrets_stays_as_it_is():
    text = "input_tokens: {p50: 900}\n" * 100 + "lorem ipsum " * 20_000 + "a-" * 300_000
    refuse_secrets(text)
    assert blanked(text) == text


def test_a_text_of_nothing_but_such_words_is_not_taken():
    with pytest.raises(InvalidInput, match="CB-E223"):
        refuse_secrets("key " * MOST_SUSPECT_CHARS)


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_what_the_log_readers_blank_is_refused_here(before, secret, after):
    text = f"{before} {secret} {after}"
    if any(redacted(line) != line for line in text.split("\n")):
        with pytest.raises(InvalidInput):
            refuse_secrets(text)


def test_nothing_of_a_long_key_is_left():
    for key in ("token: " + "Q" * 3_000, "eyJ" + "Q" * 1_500 + "." + "Q" * 900 + ".QQ"):
        told = blanked(f"{'w ' * 3_000}{key} and {'w ' * 3_000}")
        assert "Q" not in told
        assert told.count("w") == 6_000


def test_what_is_blanked_loses_nothing_else():
    text = ("see https://example.org/a?b=1 and the key figures of tokens; " * 400 + "\n") * 3
    assert blanked(text) == text
    dense = "://" * 5_000
    assert blanked(dense) == dense
