"""The decision record in its forms: JSON, Markdown, one HTML file."""

from __future__ import annotations

from pathlib import Path

from cabida.errors import InvalidInput
from cabida.plan import Decision
from cabida.text import problem

FORMS = ("html", "md", "json")


def render(decision: Decision, form: str) -> str:
    """The record as text in one of ``FORMS``. Another form is CB-R011."""
    if form == "html":
        from cabida.report.page import page

        return page(decision)
    if form in ("md", "markdown"):
        from cabida.report.markdown import markdown

        return markdown(decision)
    if form == "json":
        from cabida.report.store import to_json

        return to_json(decision)
    raise InvalidInput([problem("CB-R011", form=form)])


def write(decision: Decision, folder: Path | str, forms: tuple[str, ...] = FORMS) -> list[Path]:
    """Write ``NAME.html``, ``NAME.md`` and ``NAME.json`` into ``folder``; gives their paths."""
    from cabida.report.store import write_text

    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in decision.name).strip(
        ".-"
    )
    return [
        write_text(Path(folder) / f"{name or 'decision'}.{form}", render(decision, form)) for form in forms
    ]
