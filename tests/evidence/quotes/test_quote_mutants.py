"""Forms and mails with bytes turned, cut, doubled and mixed: each is read or refused with its problem, nothing else."""

from __future__ import annotations

import random
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from cabida.errors import InvalidInput, Problem
from cabida.evidence.quotes import Quote, read_quote, read_quotes, template

EXAMPLES = Path(__file__).parents[3] / "examples" / "quotes"
WHOLE = EXAMPLES / "reservation.yaml"
SEEDS = range(75)  # of each of the four forms
WORDS = (
    b"=cmd|' /C calc'!A1",
    b"99999999999999999999999999", b"1e400", b"-1", b"NaN", b"\xff\xfe", b"\x00", b"\xe2\x80\xae",
    b"&a *a", b"!!python/object:os.system", b"{[", b'"', b"'", b":", b"\n\n---\n", b"1.234.567,89.1", b"31/02/2026",
    b"%",
    b"%%%", b"\t|\t", b"x" * 5_000, b"12 x 12 x 12 x H100", b"USD USD 5", b"items:\n  - what: 1\n", b",,,,,,", b"\r",
    b"0 %", b"\f", b"]]>",
)  # fmt: skip


def original(form: str) -> bytes:
    if form == "text":
        return (EXAMPLES / "oferta-correo.txt").read_bytes()
    made = template(form, quote=read_quote(WHOLE))
    return made if isinstance(made, bytes) else made.encode()


def mutated(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(raw) + 1)
        to = min(len(raw), at + chance.choice((1, 5, 40, 400)))
        other = chance.randrange(len(raw) + 1)
        word = chance.choice(WORDS)
        raw = chance.choice(
            (
                raw[:at] + word + raw[at:],
                raw[:at] + word + raw[to:],
                raw[:at] + raw[to:],
                raw[:at] + raw[at:to] * 3 + raw[to:],
                raw[:other] + raw[at:to] + raw[other:],
                raw[: max(1, at)],
            )
        )
    return raw


def of_workbook(raw: bytes, chance: random.Random) -> bytes:
    """One part of the workbook mutated, packed again; or the archive itself."""
    if chance.random() < 0.3:
        return mutated(raw, chance)
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(raw)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = chance.choice(names)
        for name in names:
            data = old.read(name)
            new.writestr(name, mutated(data, chance) if name == chosen else data)
    return made.getvalue()


def outcome(path: Path) -> tuple[tuple[Quote, ...], tuple[Problem, ...]]:
    try:
        return read_quotes(path), ()
    except InvalidInput as error:
        return (), error.problems


@pytest.mark.parametrize("form", ["yaml", "csv", "xlsx", "text"])
def test_a_mutant_is_read_or_refused(form, tmp_path):
    raw = original(form)
    path = tmp_path / f"mutant.{'txt' if form == 'text' else form}"
    read = 0
    for seed in SEEDS:
        chance = random.Random(f"{form} {seed}")
        path.write_bytes(of_workbook(raw, chance) if form == "xlsx" else mutated(raw, chance))
        quotes, problems = outcome(path)
        for one in problems:
            assert one.code.startswith("CB-")
            assert one.what
            assert one.file == str(path)
        assert quotes or problems
        if problems:
            continue
        read += 1
        for quote in quotes:
            assert {one.field for one in quote.seen} == set(quote.said())
            told = [str(value) for value in quote.said().values()] + [
                one.words for one in (*quote.seen, *quote.left)
            ]
            assert all(text.isprintable() or "\u00a0" in text for text in told)
    assert 0 < read < len(SEEDS)  # some are harmless, some are not
