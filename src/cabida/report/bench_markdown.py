"""The report of a benchmark as Markdown: the parts of the page, pictures in letters."""

from __future__ import annotations

from typing import Any

from cabida.report.bench_learnt import learnt
from cabida.report.bench_parts import parts
from cabida.report.markdown import md
from cabida.report.money_parts import Table
from cabida.text import speaking

WIDTH = 96


def bench_markdown(answer: dict[str, Any], language: str = "en") -> str:
    """The whole report; everything that came from elsewhere is escaped."""
    with speaking(language):
        blocks = [f"# {md(answer['name'])}", *map(md, learnt(answer))]
        for part in parts(answer, pictures=False):
            blocks.append(f"## {md(part.title)}")
            if part.sentences:
                blocks.append("\n".join(f"- {md(one)}" for one in part.sentences))
            for table in part.tables:
                blocks += [f"**{md(table.title)}**"] if table.title else []
                blocks.append(_table(table))
            for lines in part.letters(WIDTH):
                drawn = "\n".join(lines).replace("```", "'''")
                blocks.append(f"```text\n{drawn}\n```")
        return "\n\n".join(blocks) + "\n"


def _table(table: Table) -> str:
    rows = [table.header, *table.rows]
    lines = ["| " + " | ".join(md(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(table.header), *lines[1:]])
