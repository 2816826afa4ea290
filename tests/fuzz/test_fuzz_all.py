"""Every parser of what strangers send: briefly here, for an hour by ``python tests/fuzz/fuzz_all.py --minutes 60``."""

import tempfile
import time

import fuzz_all
import fuzz_parsers
import pytest
from fuzz_all import Trial
from fuzz_changes import Changes
from fuzz_parsers import NAMES, Parser

from cabida.errors import InvalidInput, Problem

LONG_S = 10.0


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    yield tmp_path_factory.mktemp("spoilt")
    fuzz_parsers.WEB.close()


@pytest.fixture(autouse=True)
def at_home(scratch, monkeypatch):
    for name, value in fuzz_all.own_places(scratch).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch / "tmp"))


def lawful(trial):
    assert not trial.found, next(iter(trial.found.values()))[1]
    assert trial.accepted_count


@pytest.mark.parametrize("name", NAMES)
def test_a_spoilt_file_gives_an_answer_or_a_refusal(name, scratch):
    trial = Trial(name, 1, scratch)
    trial.put(trial.parser.seeds[0], fuzz_all.SEED_S)
    trial.go_on(most=trial.parser.brief_count)
    lawful(trial)


@pytest.mark.long
@pytest.mark.parametrize("name", fuzz_all.names())
def test_spoilt_files_give_answers_or_refusals_for_long(name, tmp_path):
    trial = Trial(name, 2, tmp_path)
    trial.seeds()
    trial.go_on(seconds=LONG_S)
    lawful(trial)


def refusing(data, scratch):
    del data, scratch
    raise InvalidInput([Problem("CB-X001", "it is odd")])


def writing(data, scratch):
    (scratch / "out").write_bytes(data)


def reaching(data, scratch):
    del data, scratch
    time.sleep(1)


@pytest.mark.parametrize(
    ("enter", "told"),
    [
        (lambda *_: {"price_money": -1}, "Unlawful   price_money"),
        (lambda *_: [{"tokens": 10}, {"ratio": float("nan")}], "Unlawful"),
        (lambda *_: {"size_bytes": float("inf")}, "Unlawful"),
        (lambda *_: 1 // 0, "ZeroDivisionError"),
        (refusing, "Unlawful"),
        (writing, "Unlawful"),
        (reaching, "Slow"),
    ],
)
def test_the_law_is_held(enter, told, scratch, monkeypatch):
    monkeypatch.setattr(fuzz_parsers, "parser", lambda _: Parser(enter, (b"seed",)))
    trial = Trial(f"planted {told} {enter.__name__} {id(enter)}", 1, scratch)
    trial.put(b"seed", 0.05)
    (where,) = trial.found
    assert where.startswith(told.split()[0])
    if "price" in told:
        assert "pric" in where


def test_the_same_seed_tries_the_same_inputs():
    first, second, other = (
        [changes.next() for _ in range(200)]
        for changes in (Changes(seed, (b"hour,gpus\n0,3\n1,5\n",), (b"x",)) for seed in (7, 7, 8))
    )
    assert first == second != other
    assert len(set(first)) > 150
