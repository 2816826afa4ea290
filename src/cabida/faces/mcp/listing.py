"""All tools, and the use cases that are none."""

from __future__ import annotations

from functools import cache

from cabida.faces.mcp.tool import Place, Tool

NO_TOOLS = {  # use case -> why no assistant is offered it
    "Setup": "a noun",
    "bench_export": "writes files in other tools' layouts",
    "bench_normalised": "needs the folders of benchmarks and minutes; bench_report tells of it",
    "bench_selftest": "loads this machine for minutes to measure itself",
    "bench_write": "writes files",
    "calibrate": "changes every prediction from then on: a person's decision",
    "keep_answer": "brief_keep and decision_keep do it one by one",
    "hours_of": "reads one file for hold",
    "import_prices": "changes the price book: a person's decision",
    "store_backup": "copies the whole store: a person's decision",
    "store_export": "copies the whole store: a person's decision",
    "store_import": "changes the whole store: a person's decision",
    "store_restore": "changes the whole store: a person's decision",
}


@cache
def tools() -> dict[str, Tool]:
    """Every tool by name, in the order of the flow."""
    from cabida.faces.mcp import asking, benching, catalogue, deciding, kept, quoting

    found = [*deciding.TOOLS, *asking.TOOLS, *catalogue.TOOLS, *quoting.TOOLS, *benching.TOOLS, *kept.TOOLS]
    return {one.name: one for one in found}


def offered(place: Place, *, may_edit: bool) -> dict[str, Tool]:
    """The tools for whoever asks: elsewhere none about this machine, to readers none that changes things."""
    return {
        name: one
        for name, one in tools().items()
        if not (one.here and place.root is None)
        and not (one.changes and not may_edit)
        and not (name == "bench_run" and not place.bench)
    }
