"""The screens of ``cost``: one line for each offer or option, and a bill line by line with its formulas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces import run_screens
from cabida.faces.answers import OFFERS_WIDE, carried, held, setup_line
from cabida.faces.grid import Fitting, clean, table
from cabida.plan import Estimate
from cabida.plan.outputs import output_scale, per_output
from cabida.report import words as say
from cabida.report.tree import value_of
from cabida.text import has_text, tr

UNITS = ("accepted_", "completed_run")  # what the metric of one output's cost is called after
MANY = {1e3: "thousand", 1e6: "million"}
SHOWN_OPTIONS = 6  # side by side on a screen; --json has all


def screen(answer: dict[str, Any]) -> RenderableType:
    """What was asked, a line for each way to pay, and the bill where it was asked for."""
    about_options = answer["kind"] == "options"
    blocks = (
        _options(answer)
        if about_options
        else [*_asked(answer), *_slices(answer), Text(), _offers(answer), *_tokens(answer)]
    )
    if "bill" in answer:
        blocks += [Text(), *bill(answer["bill"], answer["currency"])]
    return Group(*blocks)


def _bought(answer: dict[str, Any]) -> list[RenderableType]:
    return [*_asked(answer), *_slices(answer), Text(), _offers(answer), *_tokens(answer)]


def _asked(answer: dict[str, Any]) -> list[RenderableType]:
    """The thing, its rate, and what the amounts hold."""
    kind, currency = answer["kind"], answer["currency"]
    if kind == "serving":
        fleet = answer.get("fleet")
        lines: list[RenderableType] = [clean(setup_line(answer)), *carried(answer)]
        if fleet is None:
            return [*lines, clean(_busy(answer))]
        if not answer["rows"]:
            return [*lines, clean(tr("cost.none_carries"))]
        told = tr(
            "cost.fleet",
            replicas=text.number(fleet["replicas"].value, 6),
            spares=text.number(fleet["spare_replicas"], 6),
            demand=text.number(fleet["demand_requests_per_s"]),
            utilisation=text.percent(answer["utilisation"]),
            currency=currency,
        )
        return [*lines, clean(told)]
    if kind == "encoder":
        shape = tr("cost.texts", tokens=text.number(answer["input_tokens"], 6), batch=answer["batch"])
        head = " · ".join([answer["model"], f"1×{answer['gpu']}", answer["weights"], answer["engine"], shape])
        return [clean(head), clean(_busy(answer))]
    lines = [clean(run_screens.head(answer))]
    if kind == "training":
        tokens = text.number(answer["target_tokens"], 6)
        return [*lines, clean(tr("cost.run", tokens=tokens, currency=currency))]
    return [*lines, clean(_busy(answer))]


def _slices(answer: dict[str, Any]) -> list[RenderableType]:
    """What the price of slices takes for granted: that others use what is left of their cards."""
    cut = answer.get("slices")
    if not cut or not cut["left"]:
        return []
    counts = {name: text.number(cut[name], 6) for name in ("slices_per_card", "left", "cards")}
    return [clean(tr("cost.slices", **counts, times=text.number(cut["empty_ratio"])))]


def _busy(answer: dict[str, Any]) -> str:
    return tr("cost.one", utilisation=text.percent(answer["utilisation"]), currency=answer["currency"])


def _offers(answer: dict[str, Any]) -> RenderableType:
    """One line for each offer, cheapest first; lesser columns leave a narrow terminal."""
    rows = answer["rows"]
    if not rows:
        return Text()
    unit = next(name for name in rows[0]["metrics"] if name.startswith(UNITS))
    period = "run" if answer["kind"] == "training" else "month"
    scale = output_scale(row["metrics"][unit].value for row in rows)
    kept = all(row["coverage_ratio"] == 1.0 for row in rows)  # then a run and a model cost the same
    idle = {unit, "input_mtok_money", "total_mtok_money", *(("accepted_model_money",) if kept else ())}
    names = [name for name in rows[0]["metrics"] if name not in idle]
    cells = [_cells(row, unit, scale, period) for row in rows]
    header = {
        "provider": tr("faces.provider"), "capacity": tr("faces.capacity"), "price_hour": tr("faces.price_hour"),
        period: tr("cost.a_run" if period == "run" else "cost.month"), "people": tr("faces.people"),
        unit: _unit_head(unit, scale),
        "seen": tr("faces.seen"), "flags": tr("faces.flags"),
    } | {name: _named(name) for name in names}  # fmt: skip
    wide = ["provider", "capacity", "price_hour", period, "people", unit, *names, "seen", "flags"]
    middle = [one for one in wide if one not in ("people", *(name for name in names if name != "wall_s"))]
    made = [
        table(
            [header[key] for key in keys],
            [[row[key] for key in keys] for row in cells],
            right=[at for at, key in enumerate(keys) if key not in ("provider", "capacity", "seen", "flags")],
            whole=tuple(range(1, len(keys) - ("flags" in keys))),
        )
        for keys in (wide, middle, [one for one in middle if one not in (*names, "flags")])
    ]
    return Fitting(made[0], Fitting(made[1], made[2]), least=OFFERS_WIDE)


def _tokens(answer: dict[str, Any]) -> list[RenderableType]:
    """What a million tokens read, written and of both cost under the cheapest offer."""
    figures = answer["rows"][0]["metrics"] if answer["rows"] else {}
    if "input_mtok_money" not in figures or "output_mtok_money" not in figures:
        return []
    values = {name: say.span(figures[f"{name}_mtok_money"]) for name in ("input", "output", "total")}
    return [Text(), clean(tr("cost.tokens", **values, currency=answer["currency"]))]


def _cells(row: dict[str, Any], unit: str, scale: float, period: str) -> dict[str, str]:
    cells = {
        "provider": f"{row['provider']} {row['region']}".strip(),
        "capacity": held(row["capacity"]),
        "price_hour": text.number(row["price_money_per_hour"]),
        period: _money(row[f"cost_per_{period}_money"]),
        "people": _money(row["lines"].get("platform_labour", 0.0)),
        "seen": row["seen"] or tr("report.undated"),
        "flags": ", ".join(tr(f"faces.flag.{one}") for one in row["flags"]),
    }
    for name, one in row["metrics"].items():
        cells[name] = _figure(name, one, scale if name == unit else 1.0)
    return cells


def _figure(name: str, one: Estimate, scale: float) -> str:
    return text.duration(one.value) if name.endswith("_s") else say.span(one, scale)


def _money(amount: float) -> str:
    return text.money(amount, "").strip()


def _unit_head(unit: str, scale: float) -> str:
    return per_output(unit.removesuffix("_money"), scale)


def _named(name: str) -> str:
    key = f"cost.unit.{name}"
    return tr(key) if has_text(key) else say.label(name)


def _options(answer: dict[str, Any]) -> list[RenderableType]:
    """The options as columns and the lines of their bills as rows."""
    shown = answer["rows"][:SHOWN_OPTIONS]
    period = answer["period"]
    unit = f"{answer['denominator']}_money"
    scale = output_scale(row["metrics"][unit].value for row in answer["rows"])
    head = [tr("cost.line"), *(str(row["rank"]) for row in shown)]
    rows = [
        [say.cost_line(key), *(_amount(row["lines"].get(key)) for row in shown)]
        for key in answer["line_keys"]
    ]
    rows += [
        [tr(f"cost.total.{period}"), *(_amount(row[f"{period}_money"]) for row in shown)],
        [_unit_head(unit, scale), *(say.span(row["metrics"][unit], scale) for row in shown)],
    ]
    told = [
        clean(f"{row['rank']}. {row['title']} · {tr('report.status.' + row['status'])} · {row['seen']}")
        for row in shown
    ]
    note = tr("cost.options", name=answer["name"], as_of=answer["as_of"], currency=answer["currency"])
    more = len(answer["rows"]) - len(shown)
    blocks: list[RenderableType] = [clean(note, "bold"), *told]
    blocks += [clean(tr("cost.more", count=more))] if more > 0 else []
    return [*blocks, Text(), table(head, rows, right=tuple(range(1, len(head))))]


def _amount(amount: float | None) -> str:
    return "–" if amount is None else _money(amount)


def bill(found: dict[str, Any], currency: str) -> Iterable[RenderableType]:
    """A bill line by line: money, share, what of it each accepted output carries, and the formula with its figures."""
    nodes = {node["id"]: node for node in found["nodes"]}
    scale = output_scale([found["unit_money"]])
    head = [
        tr("cost.line"),
        currency,
        tr("cost.share"),
        tr("cost.each") if scale == 1.0 else tr("cost.many", many=tr(f"report.{MANY[scale]}")),
    ]
    rows = [
        [
            say.cost_line(line["key"]),
            say.decimal(line["money"], 2),
            say.share(line["share_ratio"]),
            text.number(line["per_output_money"] * scale, 4),
        ]
        for line in found["lines"]
    ]
    rows.append(
        [
            tr("cost.sum"),
            say.decimal(found["total_money"], 2),
            say.share(1.0),
            text.number(found["unit_money"] * scale, 4),
        ]
    )
    yield table(head, rows, right=(1, 2, 3))
    yield Text()
    for line in found["lines"]:
        if line["node"] in nodes:
            yield from _formula(say.cost_line(line["key"]), nodes[line["node"]], nodes, currency)
    yield from _formula(tr("cost.unit_cost"), nodes[found["unit"]], nodes, currency)


def _formula(
    name: str, node: dict[str, Any], nodes: dict[Any, dict[str, Any]], currency: str
) -> Iterable[RenderableType]:
    """One formula and what stands in it."""
    if not node["equation"]:
        yield clean(f"{name} = {value_of(node, currency)}")
        return
    yield clean(f"{name} = {node['equation']}")
    figures = [
        f"{one['param']} = {value_of(nodes[one['id']], currency)}"
        for one in node["inputs"]
        if one["id"] in nodes
    ]
    yield Padding(clean(", ".join(figures), "dim"), (0, 0, 0, 4), expand=False)
