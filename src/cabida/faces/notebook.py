"""Answers in a notebook: shown as small tables, given as records, made into frames.

Where an answer is plain data, the public door gives it as :class:`Answer` or :class:`Rows`: a dict or a list like any
other, the same JSON, that knows how it is shown. The nouns of lower floors (Decision, Quantity ...) know nothing of
pages: IPython is told by their names what shows them, once, when ``cabida`` is imported where IPython runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from cabida.text import has_text, locale, money, number, percent, problem, speaking, tr

if TYPE_CHECKING:
    from cabida.plan import Decision, Estimate
    from cabida.quantity import Quantity

SHOWN = {  # class -> function here that shows it
    ("cabida.plan.decision", "Decision"): "decision_html",
    ("cabida.quantity", "Quantity"): "quantity_html",
    ("cabida.report.answered", "Answer"): "told_html",
    ("cabida.procure.audit", "Audit"): "told_html",
    ("cabida.procure.compare", "Comparison"): "told_html",
    ("cabida.app.rerunning", "Rerun"): "rerun_html",
    ("cabida.report.diff", "Difference"): "difference_html",
}
TABLES = ("rows", "options", "accelerators", "reservations", "days", "runs", "nodes", "observations", "files")
ESTIMATE = {"value", "low", "high", "basis"}
FIGURES = ("ttft_ms_p95", "tpot_ms_p95", "req_s", "output_tok_s", "step_time_s", "duration_h")
WIDE_CHARS = 30  # from which on a text has room of its own
FEW_ROWS = 3  # whose columns are shown even where all say the same
MOST_ROWS, MOST_COLUMNS, MOST_CHARS = 20, 12, 90
_FIGURE = re.compile(r"[-–]?[\d.,]*(?: %| [A-Z]{3})?(?: \[[^\]]*\])?")
LEFT_OUT = ("trees", "setup")  # what leads to explanations and launch files, no figures
FRAMES = ("pandas", "polars")
_CELL = "padding:.25em .8em;border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top"
_NUMBERS = ";text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


class Answer(dict[str, Any]):
    """An answer with names: a dict, shown as a small table."""

    def _repr_html_(self) -> str:
        return answer_html(self)


class Rows(list[Any]):
    """An answer of several rows: a list, shown as a table."""

    def _repr_html_(self) -> str:
        return rows_html(self)


def shown(result: Any) -> Any:
    """A plain answer as one that knows how it is shown; anything else as it is."""
    if type(result) is dict:
        return Answer(result)
    return Rows(result) if type(result) is list else result


def register(formatters: Mapping[str, Any]) -> None:
    """Tell IPython's formatters what shows the nouns, by name: nothing is imported until one is shown."""
    page = formatters["text/html"]
    for (module, name), function in SHOWN.items():
        page.for_type_by_name(module, name, globals()[function])


def records(result: Any) -> list[dict[str, Any]]:
    """An answer as flat rows: of a decision one for each option, of a table one for each line, else one alone.

    What is nested comes under a joined name (``load.input_tokens``); a figure with its interval as ``name``,
    ``name_low`` and ``name_high``; a list of words as one text. Lists of rows inside rows are left out.
    """
    from cabida.plan import Decision
    from cabida.quantity import Quantity

    if isinstance(result, Decision):
        found: Iterable[Any] = result.options
    elif isinstance(result, Quantity):
        return [_node(one) for one in result.nodes()]
    elif isinstance(result, Mapping):
        found = next((result[name] for name in TABLES if _is_table(result.get(name))), [result])
    elif isinstance(result, Sequence) and not isinstance(result, str | bytes):
        found = result
    else:
        found = [result]
    rows = [dict(_flat(one)) for one in found]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]


def frame(result: Any, kind: str = "pandas") -> Any:
    """The :func:`records` of an answer as a data frame.

    Args:
        result: what a use case gave.
        kind: pandas or polars.

    Raises:
        UsageProblem: CB-O017, there is no such kind; CB-O018, it is not installed.
    """
    from importlib import import_module

    from cabida.errors import UsageProblem

    if kind not in FRAMES:
        raise UsageProblem([problem("CB-O017", kind=str(kind)[:40], kinds=", ".join(FRAMES))])
    try:
        library = import_module(kind)
    except ImportError:
        raise UsageProblem([problem("CB-O018", kind=kind)]) from None
    rows = records(result)
    return (
        library.DataFrame(rows)
        if kind == "pandas"
        else library.DataFrame(rows, infer_schema_length=None, strict=False)
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _flat(one: Any, lead: str = "") -> Iterable[tuple[str, Any]]:
    if is_dataclass(one) and not isinstance(one, type):
        one = {each.name: getattr(one, each.name) for each in fields(one)}
    if not isinstance(one, Mapping):
        yield lead or "value", one
        return
    if one.keys() == ESTIMATE:
        yield from ((lead, one["value"]), (f"{lead}_low", one["low"]), (f"{lead}_high", one["high"]))
        return
    for name, value in one.items():
        joined = f"{lead}.{name}" if lead else str(name)
        if name == "metrics" and not lead:  # names of their own
            joined = ""
        if name in LEFT_OUT:
            continue
        if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
            yield from _flat(value, joined)
        elif isinstance(value, list | tuple):
            if value and all(isinstance(each, str) for each in value):
                yield joined, ", ".join(value)
        else:
            yield joined, value


def _node(one: Quantity) -> dict[str, Any]:
    low, high = one.interval
    source = one.source
    return {
        "name": one.name, "value": float(one.value), "unit": one.unit.text, "low": low, "high": high,
        "equation": one.equation, "grade": one.grade, "source": source.what if source else "",
        "seen": source.seen if source else "",
    }  # fmt: skip


def decision_html(decision: Decision) -> str:
    """The first screen of a record: the answer, its options, how sure it is, what would change it, what to mind."""
    with speaking(decision.language if decision.language != locale()[:2] else ""):
        head = ("rank", "option", "month", "unit_cost", *_figures(decision), "probability")
        rows = [_option(one, decision, _figures(decision)) for one in decision.options[:MOST_ROWS]]
        about = tr(
            "notebook.about",
            name=decision.name,
            as_of=decision.as_of,
            count=number(decision.candidates_count, 9),
        )
        parts = [
            f"<p><strong>{escape(decision.answer)}</strong></p><p>{escape(about)}</p>",
            _table([_head(name) for name in head], rows),
            _said("changes", [one.sentence for one in decision.flips[:4]]),
            _said("careful", [one.sentence for one in decision.warnings[:4]]),
            _said("measure", [f"{one.what} {one.decides}" for one in decision.measurements[:1]]),
        ]
        return "<div>" + "".join(parts) + "</div>"


def _figures(decision: Decision) -> list[str]:
    return [name for name in FIGURES if any(name in one.metrics for one in decision.options)][:3]


def _option(one: Any, decision: Decision, figures: Sequence[str]) -> list[str]:
    cost, currency = one.unit_cost, decision.currency
    told = "<br>".join(escape(text) for text in (one.title, *one.reasons[:1]))
    metrics = [_interval(one.metrics[name]) if name in one.metrics else "–" for name in figures]
    return [
        escape(str(one.rank)), told, escape(money(one.cost_per_month_money, currency)),
        escape(f"{money(cost.value, currency)} [{number(cost.low)}–{number(cost.high)}]"), *metrics,
        escape(number(one.best_probability, 2)),
    ]  # fmt: skip


def _interval(one: Estimate) -> str:
    text = number(one.value)
    return escape(text if one.low == one.high else f"{text} [{number(one.low)}–{number(one.high)}]")


def quantity_html(one: Quantity) -> str:
    """A figure: value, unit and interval; how it was made, and where it was read."""
    low, high = one.interval
    unit = one.unit.text
    value = f"{number(float(one.value))} {unit}".strip()
    between = "" if low == high else f" [{number(low)}–{number(high)}]"
    source = one.source
    read = " · ".join(filter(None, (source.what, source.url, source.seen) if source else ()))
    lines = [f"<strong>{escape(one.name)} = {escape(value)}</strong>{escape(between)}"]
    lines += [f"<code>{escape(one.equation)}</code>"] if one.equation else []
    lines += [escape(f"{tr('notebook.source')}: {read}")] if read else []
    lines += [escape(f"{tr('notebook.grade')}: {one.grade}")]
    return "<div>" + "<br>".join(lines) + "</div>"


def told_html(answer: Any) -> str:
    """An answer in a sentence, and what stands beside it."""
    flat = {name: value for name, value in _flat(answer) if name not in ("answer", "schema")}
    rows = next((list(value) for each in ("figures", "rows") if (value := getattr(answer, each, None))), [])
    table = rows_html(rows) if rows else ""
    return f"<div><p><strong>{escape(str(answer.answer))}</strong></p>{table or _pairs(flat)}</div>"


def rerun_html(made: Any) -> str:
    """A decision made again, and whether its winner stays."""
    return difference_html(made.difference) + decision_html(made.decision)


def difference_html(found: Any) -> str:
    """Whether the winner is another one."""
    key = "notebook.another" if found.winner_changed else "notebook.same"
    return f"<p><strong>{escape(tr(key))}</strong></p>"


def answer_html(answer: Mapping[str, Any]) -> str:
    """A plain answer: its figures, and its table where it has one."""
    name = next((one for one in TABLES if _is_table(answer.get(one))), "")
    if not name:
        return f"<div>{_pairs(dict(_flat(answer)))}</div>"
    alone = {key: value for key, value in answer.items() if not isinstance(value, list | tuple | Mapping)}
    return f"<div>{_pairs(alone)}{rows_html(answer[name])}</div>"


def rows_html(rows: Sequence[Any]) -> str:
    """Rows as a table: the first of them, and of each the columns that say something; what all share stands above."""
    every = records(list(rows))
    flat = every[:MOST_ROWS]
    names = [name for name in (flat[0] if flat else {}) if any(row[name] not in (None, "") for row in flat)]
    names = [one for one in names if not one.endswith(("_low", "_high"))]
    shared = [
        name for name in names[1:] if len(flat) > FEW_ROWS and len({str(row[name]) for row in every}) == 1
    ]
    names = [one for one in names if one not in shared][:MOST_COLUMNS]
    above = " · ".join(f"{escape(name)}: {_cell(flat[0], name)}" for name in shared)
    table = _table([escape(name) for name in names], [[_cell(row, name) for name in names] for row in flat])
    more = len(rows) - len(flat)
    table += f"<p>{escape(tr('notebook.more', count=number(more, 9)))}</p>" if more > 0 else ""
    return (f"<p>{above}</p>" if above else "") + table


def _pairs(flat: Mapping[str, Any]) -> str:
    names = [
        name
        for name, value in flat.items()
        if value not in (None, "") and not name.endswith(("_low", "_high"))
    ]
    rows = [[f"<strong>{escape(name)}</strong>", _cell(flat, name)] for name in names[: 2 * MOST_ROWS]]
    return _table([], rows)


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str("–" if value is None else value)
        return escape(text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…")
    text = percent(value) if name.endswith(("_ratio", "_probability")) else number(value, 4)
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is not None and high is not None and low != high:
        text += f" [{number(low)}–{number(high)}]"
    return escape(text)


def _said(name: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in sentences)
    return f"<p><strong>{escape(tr(f'notebook.{name}'))}</strong></p><ul>{items}</ul>"


def _head(name: str) -> str:
    key = f"notebook.column.{name}"
    return escape(tr(key) if has_text(key) else name)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f'<th scope="col" style="{_CELL};text-align:left">{one}</th>' for one in head)
    body = "".join("<tr>" + "".join(_td(one) for one in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{titles}</tr></thead>" if head else ""
    table = f'<table style="border-collapse:collapse">{top}<tbody>{body}</tbody></table>'
    return f'<div style="overflow-x:auto">{table}</div>'


def _td(cell: str) -> str:
    wide = ";min-width:16em" if len(cell) > WIDE_CHARS else ""
    return (
        f'<td style="{_CELL}{_NUMBERS if _FIGURE.fullmatch(cell) else f";text-align:left{wide}"}">{cell}</td>'
    )


def calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A use case whose plain answer knows how it is shown."""
    from functools import wraps

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        return shown(function(*args, **named))

    return called
