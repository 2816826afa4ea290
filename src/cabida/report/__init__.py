"""The decision record in its forms: JSON, Markdown, one HTML file, a workbook, a PDF."""

from __future__ import annotations

from pathlib import Path

from cabida.errors import InvalidInput
from cabida.plan import Decision
from cabida.text import problem

FORMS = ("html", "md", "json")  # text
BINARY_FORMS = ("xlsx", "pdf")  # files only
WRITTEN = ("html", "md", "json", "xlsx")  # with every decision; a PDF is made when asked for


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


def render_bytes(decision: Decision, form: str) -> bytes:
    """The record as the content of a file, in one of ``FORMS`` or ``BINARY_FORMS``. Another form is CB-R011."""
    if form == "xlsx":
        from cabida.report.sheet import workbook

        return workbook(decision)
    if form == "pdf":
        from cabida.report.pdf import pdf

        return pdf(decision)
    return render(decision, form).encode("utf-8")


def paths(decision: Decision, folder: Path | str) -> list[Path]:
    """Where ``write`` puts the forms of a decision: ``NAME.html``, ``NAME.md``, ``NAME.json``, ``NAME.xlsx``."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in decision.name).strip(
        ".-"
    )
    return [Path(folder) / f"{name[:100] or 'decision'}.{form}" for form in WRITTEN]


def write(decision: Decision, folder: Path | str) -> list[Path]:
    """Write every form of the record into ``folder``; gives their paths."""
    from cabida.files import write_bytes

    return [write_bytes(path, render_bytes(decision, path.suffix[1:])) for path in paths(decision, folder)]
