"""What goes back to the seller: the questions as a letter, and the acceptance tests as an annex. Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cabida.procure.nouns import SEVERITIES, Audit
from cabida.text import printable, tr

MOST_QUESTIONS = 80


def questions(made: Audit) -> dict[str, tuple[str, ...]]:
    """What to ask by severity, the worst first: contradictions, then what is missing; each question once."""
    told: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for severity in SEVERITIES:
        asked = [one.question for one in made.findings if one.severity == severity and one.question]
        asked += [one.question for one in made.gaps if one.severity == severity]
        found[severity] = tuple(one for one in dict.fromkeys(asked) if one not in told)
        told |= set(found[severity])
    return found


def letter(made: Audit) -> str:
    """The questions to send back, numbered through, in the language of the audit."""
    lines = [f"**{plain(_subject(made))}**", "", _greeting(made), "", plain(_thanks(made)), ""]
    number = 0
    for severity, asked in questions(made).items():
        if not asked or number >= MOST_QUESTIONS:
            continue
        lines += [f"**{tr(f'procure.letter.{severity}')}**", ""]
        for one in asked[: MOST_QUESTIONS - number]:
            number += 1
            lines.append(f"{number}. {plain(one)}")
        lines.append("")
    if not number:
        lines += [tr("procure.letter.nothing"), ""]
    lines += [tr("procure.letter.annex"), ""] if made.annex else []
    lines += [tr("procure.letter.close"), ""]
    return "\n".join(lines)


def _subject(made: Audit) -> str:
    number = made.quote_id or tr("procure.letter.unnumbered")
    return tr("procure.letter.subject", quote=number, title=made.title)


def _greeting(made: Audit) -> str:
    return plain(tr("procure.letter.greeting", vendor=made.vendor or tr("procure.letter.seller")))


def _thanks(made: Audit) -> str:
    return tr("procure.letter.thanks", quote=made.quote_id or "", date=made.as_of)


def annex(made: Audit, clauses: Sequence[str] | None = None) -> str:
    """The acceptance tests with their floors, and who pays when one fails, as an annex to the contract."""
    told = made.clauses if clauses is None else tuple(clauses)
    return "\n".join(
        [*_head(made), *_table(made), "", *(f"{at}. {plain(one)}" for at, one in enumerate(told, 1)), ""]
    )


def _head(made: Audit) -> list[str]:
    title = tr(
        "procure.annex.title", quote=made.quote_id or tr("procure.letter.unnumbered"), title=made.title
    )
    return [f"## {plain(title)}", "", plain(tr("procure.annex.intro")), ""]


def _table(made: Audit) -> Iterator[str]:
    names = ("test", "tool", "passes", "source")
    yield "| # | " + " | ".join(tr(f"procure.annex.{name}") for name in names) + " |"
    yield "| ---: | --- | --- | --- | --- |"
    for at, one in enumerate(made.annex, 1):
        source = (
            f"{one.source} ({basis(one.basis)})"
            if one.source and one.basis
            else one.source or basis(one.basis)
        )
        cells = (one.test, one.tool if one.key == "soak" else f"`{one.tool}`", one.passes, source)
        yield f"| {at} | " + " | ".join(plain(cell) for cell in cells) + " |"


def basis(name: str) -> str:
    """A grade or basis in words."""
    return tr(f"procure.basis.{name}") if name else ""


def plain(text: str) -> str:
    """Text of an offer inside Markdown: one line, no markup of its own, no control characters."""
    line = re.sub(r"\s+", " ", printable(text.replace("\t", " ").replace("\n", " ")))
    return re.sub(
        r"([|<>\[\]])",
        lambda found: {"|": "\\|", "<": "&lt;", ">": "&gt;"}.get(found[0], f"\\{found[0]}"),
        line,
    )
