"""The record as a PDF: what the page and Markdown say, on paper, for whoever signs.

Set by Typst (Apache-2.0) from ``templates/record.typ``. What a decision says reaches it as data, never as markup; its
fonts are those Typst brings, and its date is the decision's, so the same decision is the same bytes.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cabida import text
from cabida.errors import InvalidInput
from cabida.plan import Decision
from cabida.report import words as say
from cabida.report.accepted import whole
from cabida.report.charts import charts
from cabida.report.every_form import (
    capital,
    dated,
    first,
    fits,
    footer,
    headline,
    measurement,
    metrics_line,
    replicas,
)
from cabida.report.memory_chart import patterns
from cabida.report.money_parts import Section, Table
from cabida.report.money_sections import money_sections
from cabida.report.readers import reader_sections, signing, whose
from cabida.report.svg import Chart
from cabida.report.why import why
from cabida.text import printable, problem, speaking, tr

LETTER_PAPER = ("es-MX",)  # where paper is US letter
MOST_OPTIONS = 20
MOST_SOURCES = 40
WIDTH_PT, CELL_PT, LETTER_PT, LONGEST_WORD = 482.0, 8.0, 4.8, 16  # of a table, a cell's margins, a letter
CHART_RULES = (".chart", ".part-", ".fill-", ".hatch")


def pdf(decision: Decision) -> bytes:
    """The whole record as a tagged PDF in the decision's language.

    Raises:
        InvalidInput: CB-R090, Typst isn't installed.
    """
    try:
        import typst
    except ImportError:
        raise InvalidInput([problem("CB-R090")]) from None
    with speaking(decision.language):
        data = json.dumps(_data(decision), ensure_ascii=False)
    with resources.as_file(resources.files("cabida.report") / "templates" / "record.typ") as template:
        made = typst.compile(
            str(template),
            root=str(Path(template).parent),
            sys_inputs={"data": data},
            format="pdf",
            ignore_system_fonts=True,
            timestamp=int(datetime.fromisoformat(decision.made_at).timestamp()),
            pdf_standards=["ua-1"],
        )
    assert isinstance(made, bytes)
    return made


def _data(decision: Decision) -> dict[str, Any]:
    signed = decision.sign_off
    language, _, region = decision.language.partition("-")
    return {
        "title": _plain(decision.name),
        "author": _plain(signed.author) if signed and signed.author else "Cabida",
        "keywords": [decision.facts_digest[:12], decision.as_of],
        "paper": "us-letter" if decision.language in LETTER_PAPER else "a4",
        "language": language,
        "region": region or None,
        "mark": f"{decision.as_of} · {decision.facts_digest[:12]}",
        "answer": _plain(decision.answer),
        "headline": _plain(headline(decision)),
        "footer": _plain(footer(decision)),
        "sections": [_part(one) for one in _sections(decision)],
    }


def _sections(decision: Decision) -> list[Section]:
    drawn = {one.key: one for one in charts(decision)}

    def pictures(*keys: str) -> tuple[Chart, ...]:
        return tuple(drawn[key] for key in keys if key in drawn)

    best = first(decision)
    fell = [one for one in decision.options if one.status in ("misses", "ruled_out") and one.reasons]
    found = [
        *reader_sections(decision),
        Section(
            "options",
            tuple(_more(len(decision.options) - MOST_OPTIONS)),
            (_options(decision),),
            pictures("frontier", "latency"),
        ),
        Section("memory", charts=pictures("memory")),
        Section("cost", charts=pictures("waterfall", "bills")),
        Section("why", tuple(f"{capital(one)}." for one in why(decision))),
        Section(
            "rejected",
            (
                *(f"{one.rank}. {one.title}. {' '.join(one.reasons)}" for one in fell),
                *(f"{one.count}: {say.rejection(one)}" for one in decision.rejections),
            ),
        ),
        Section("flips", tuple(one.sentence for one in decision.flips), charts=pictures("tornado")),
        *money_sections(decision),
        Section(
            "measure",
            (
                *(measurement(one, decision) for one in decision.measurements),
                *([decision.measurements_note] if decision.measurements_note else []),
            ),
        ),
        Section("careful", tuple(whole(one) for one in decision.warnings)),
        Section("assumptions", (), (_assumptions(decision),) if decision.assumptions else ()),
        *([made] if (made := signing(decision)) is not None else []),
    ]
    if best is not None and best.command:
        started = (replicas(best),) if replicas(best) else ()
        found.append(Section("command", started, letters=tuple(best.command.splitlines())))
    sources = dated(decision)
    told = [*(_source(one) for one in sources[:MOST_SOURCES]), *_more(len(sources) - MOST_SOURCES)]
    found.append(Section("sources", tuple(told)))
    return [one for one in found if one.sentences or one.tables or one.charts or one.letters]


def _more(count: int) -> list[str]:
    """That so many more are in the JSON; nothing where none is left out."""
    return [f"{capital(tr('report.more_options', count=text.number(count, 7)))}."] if count > 0 else []


def _options(decision: Decision) -> Table:
    header = ["#", *(tr(f"report.{key}") for key in ("option", "verdict", "cost_head"))]
    header += [say.per_output(decision), tr("report.speed_head"), tr("report.memory_head")]
    rows = [
        (
            str(one.rank), one.title, tr(f"report.status.{one.status}"), say.cost(one, decision),
            say.unit_cost(one, decision), " · ".join(metrics_line(one, decision)) or "–", fits(one) or "–",
        )
        for one in decision.options[:MOST_OPTIONS]
    ]  # fmt: skip
    return Table("", tuple(header), tuple(rows))


def _assumptions(decision: Decision) -> Table:
    header = tuple(tr(f"report.{key}") for key in ("assumed", "taken", "because", "by_whom", "grade_head"))
    rows = tuple(
        (say.assumption(one.name), one.value, one.why, whose(one), say.grade(one.grade))
        for one in decision.assumptions
    )
    return Table("", header, rows)


def _source(one: dict[str, str]) -> str:
    seen = one.get("seen") or tr("report.undated")
    return f"{one.get('what', '')}, {seen} [{say.grade(one.get('grade', ''))}] {one.get('url', '')}".strip()


def _part(one: Section) -> dict[str, Any]:
    return {
        "title": _plain(tr(f"report.section.{one.key}")),
        "sentences": [_plain(sentence) for sentence in one.sentences],
        "tables": [_table(table) for table in one.tables],
        "charts": [_chart(chart) for chart in one.charts],
        # a picture in letters stands for drawings that this form has
        "letters": [] if one.charts else [printable(line) for line in one.letters],
    }


def _table(one: Table) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "title": _plain(one.title),
        "header": [_plain(cell) for cell in one.header],
        "rows": [[_plain(cell) for cell in row] for row in one.rows],
    }
    return plain | {"widths": _widths(plain)}


def _widths(plain: dict[str, Any]) -> list[float]:
    """Points of each column: room for its longest word, and of the rest the more the longer its texts."""
    columns = list(zip(plain["header"], *plain["rows"], strict=True))
    least = [
        CELL_PT
        + LETTER_PT * min(LONGEST_WORD, max(len(word) for cell in one for word in [*cell.split(), ""]))
        for one in columns
    ]
    shares = [max(4.0, min(80.0, max(len(cell) for cell in one))) ** 0.6 for one in columns]
    rest = max(0.0, WIDTH_PT - sum(least))
    return [round(low + rest * one / sum(shares), 2) for low, one in zip(least, shares, strict=True)]


def _chart(one: Chart) -> dict[str, Any]:
    lacks = "fill-" in one.svg and "<pattern" not in one.svg  # a page has them once, paper with each picture
    head = f"<style>{chart_style()}</style>{patterns() if lacks else ''}"
    styled = printable(one.svg).replace(">", f">{head}", 1)
    return {
        "svg": styled.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1),
        "alt": _plain(f"{one.title}. {one.caption}"),
        "caption": _plain(f"{one.title}. {one.caption}"),
    }


@cache
def chart_style() -> str:
    """The page's rules for drawings with its light colours in them: a drawing by itself has no page to inherit from."""
    css = (resources.files("cabida.report") / "templates" / "style.css").read_text(encoding="utf-8")
    light = css[css.index(":root{") : css.index("@media")]
    colours = dict(re.findall(r"--([\w-]+):([^;}]+)", light)) | {"card": "#ffffff"}
    named = "|".join(re.escape(one) for one in CHART_RULES)
    rules = re.findall(rf"(?m)^\s*((?:{named})[^{{}}]*)\{{([^{{}}]*)\}}", css.replace("}", "}\n"))
    kept = [f"{name.strip()}{{{body}}}" for name, body in rules if "min-width" not in body or "fill" in body]
    plain = re.sub(r"var\(--([\w-]+)\)", lambda found: colours.get(found[1], "#000"), "".join(kept))
    return plain + ".chart text{font-family:'Libertinus Serif';font-size:14px}"


def _plain(told: str) -> str:
    """On one line, without what drives a terminal or turns a line around."""
    return " ".join(printable(told).split())
