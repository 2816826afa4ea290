"""The record as Markdown: for pull requests and decision folders. Same content, same order as the page."""

from __future__ import annotations

import re

from cabida import text
from cabida.plan import Decision
from cabida.report import tree
from cabida.report import words as say
from cabida.report.accepted import whole
from cabida.report.charts import waterfall
from cabida.report.every_form import (
    MOST_OPTIONS,
    dated,
    first,
    fits,
    footer,
    headline,
    measurement,
    metrics_line,
    replicas,
    safe_url,
)
from cabida.report.fleet import fleet
from cabida.report.memory_chart import in_letters
from cabida.report.money_parts import Section
from cabida.report.money_sections import money_sections
from cabida.report.readers import reader_sections, signing, whose
from cabida.report.why import why
from cabida.text import speaking, tr

MOST_DEPTH = 2  # levels of a tree; the page and cabida explain show all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown(decision: Decision) -> str:
    """The whole record in the decision's language."""
    with speaking(decision.language):
        blocks = [
            _head(decision),
            *(_section(one.key, _money(one)) for one in reader_sections(decision)),
            _section("options", _options(decision)),
            _section("memory", _fenced("text", "\n".join(bars)) if (bars := in_letters(decision)) else []),
            _bill(decision),
            _section("why", [f"- {md(one)}." for one in why(decision)]),
            _section("rejected", _rejected(decision)),
            _section("flips", [f"- {md(one.sentence)}" for one in decision.flips]),
            *(_section(one.key, _money(one)) for one in money_sections(decision)),
            _section("measure", _measure(decision)),
            _section("careful", [f"- {md(whole(one))}" for one in decision.warnings]),
            _section("assumptions", _assumptions(decision)),
            *(_section(one.key, _money(one)) for one in (signing(decision),) if one is not None),
            _section("command", _command(decision)),
            _section("sources", _sources(decision)),
            _section("numbers", _numbers(decision)),
            [f"---\n\n{md(footer(decision))}"],
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def md(content: str) -> str:
    """Text safe inside Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(content.split()))


def _section(key: str, lines: list[str]) -> list[str]:
    return [f"## {tr(f'report.section.{key}')}", "", *lines] if lines else []


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    ruled = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return ruled + ["| " + " | ".join(row) + " |" for row in rows]


def _head(decision: Decision) -> list[str]:
    return [f"# {md(decision.name)}", "", f"**{md(decision.answer)}**", "", md(headline(decision))]


def _options(decision: Decision) -> list[str]:
    header = [tr(f"report.{key}") for key in ("rank", "option", "verdict", "cost_head")]
    header += [md(say.per_output(decision)), tr("report.speed_head"), tr("report.memory_head")]
    rows = [
        [
            str(one.rank),
            md(one.title),
            tr(f"report.status.{one.status}"),
            md(say.cost(one, decision)),
            md(say.unit_cost(one, decision)),
            md(" · ".join(metrics_line(one, decision))) or "–",
            md(fits(one)) or "–",
        ]
        for one in decision.options[:MOST_OPTIONS]
    ]
    more = len(decision.options) - len(rows)
    if (mixed := fleet(decision)) is not None:
        cells = (mixed.title, mixed.verdict, mixed.cost, mixed.unit_cost, mixed.traffic)
        rows.append([tr("report.fleet.mix"), *(md(cell) for cell in cells), "–"])
    told = ["", tr("report.more_options", count=text.number(more, 7))] if more else []
    return [*_table(header, rows), *told] if rows else []


def _bill(decision: Decision) -> list[str]:
    """The first option's bill, line by line to the cent."""
    made = waterfall(decision)
    if made is None:
        return []
    noted = any(row[-1] for row in made.rows)
    width = len(made.header) if noted else len(made.header) - 1
    rows = [[md(cell) for cell in row[:width]] for row in made.rows]
    return [
        f"## {md(made.title)}",
        "",
        md(made.caption),
        "",
        *_table([md(one) for one in made.header[:width]], rows),
    ]


def _rejected(decision: Decision) -> list[str]:
    fell = [one for one in decision.options if one.status in ("misses", "ruled_out") and one.reasons]
    return [f"- **{one.rank}** {md(one.title)}. {md(' '.join(one.reasons))}" for one in fell] + [
        f"- **{text.number(one.count, 7)}** {md(say.rejection(one))}" for one in decision.rejections
    ]


def _money(part: Section) -> list[str]:
    """Sentences, the picture in letters, tables, and the tables of the drawings."""
    blocks = [[f"- {md(one)}" for one in part.sentences]] if part.sentences else []
    blocks += [_fenced("text", "\n".join(part.letters))] if part.letters else []
    twins = [(one.title, one.header, one.rows) for one in part.tables]
    twins += [(one.title, one.header, one.rows) for one in part.charts]
    for title, header, rows in twins:
        if title:
            blocks.append([f"### {md(title)}"])
        blocks.append(_table([md(cell) for cell in header], [[md(cell) for cell in row] for row in rows]))
    return [line for at, block in enumerate(blocks) for line in ([""] if at else []) + block]


def _measure(decision: Decision) -> list[str]:
    lines = []
    for one in decision.measurements:
        lines.append(f"- {md(measurement(one, decision))}")
        lines += [f"  {line}" for line in _fenced("sh", one.command)] if one.command else []
    return [*lines, *([f"- {md(decision.measurements_note)}"] if decision.measurements_note else [])]


def _assumptions(decision: Decision) -> list[str]:
    header = [
        tr(f"report.{key}") for key in ("assumed", "taken", "because", "find_out", "by_whom", "grade_head")
    ]
    rows = [
        [
            md(say.assumption(one.name)),
            md(one.value),
            md(one.why),
            md(one.how_to_find_out),
            md(whose(one)),
            md(say.grade(one.grade)),
        ]
        for one in decision.assumptions
    ]
    return _table(header, rows) if rows else []


def _command(decision: Decision) -> list[str]:
    option = first(decision)
    if option is None or not option.command:
        return []
    told = replicas(option)
    return [*([told, ""] if told else []), *_fenced("sh", option.command)]


def _fenced(kind: str, content: str) -> list[str]:
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{kind}", content, fence]


def _sources(decision: Decision) -> list[str]:
    lines = []
    for one in dated(decision):
        link = safe_url(one.get("url", ""))
        what = f"[{md(one.get('what', ''))}](<{link}>)" if link else md(one.get("what", ""))
        lines.append(
            f"- {what}, {md(one.get('seen') or tr('report.undated'))} [{md(say.grade(one.get('grade', '')))}]"
        )
    return lines


def _numbers(decision: Decision) -> list[str]:
    blocks: list[str] = []
    for top in tree.trees(decision, depth=MOST_DEPTH):
        blocks += [*_fenced("text", "\n".join(tree.lines(top))), ""]
    return [*blocks, tr("report.ask_more")] if blocks else []
