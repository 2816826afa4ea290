"""The screens of the catalogue, of a check and of a validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.checks.catalogue import Pitfall
from cabida.faces.grid import clean, table
from cabida.plan import Caution
from cabida.report.accepted import accepted
from cabida.report.origins import origin
from cabida.text import has_text, tr

COMPARED = (
    ("architecture", ""),
    ("year", ""),
    ("memory_gib", "GiB"),
    ("bandwidth_gb_s", "GB/s"),
    ("bf16_tflops", "TFLOPS"),
    ("fp8_tflops", "TFLOPS"),
    ("int8_tflops", "TOPS"),
    ("fp4_tflops", "TFLOPS"),
    ("link_kind", ""),
    ("link_gb_s", "GB/s"),
    ("tdp_w", "W"),
    ("tflops_per_w", "TFLOPS/W"),
    ("rent_usd_per_hour", "USD/h"),
    ("rent_usd_per_pflops_hour", "USD/h"),
    ("rent_usd_per_gib_hour", "USD/h"),
    ("buy_usd", "USD"),
    ("buy_usd_per_pflops", "USD"),
    ("buy_usd_per_gib", "USD"),
    ("rent_seen", ""),
    ("buy_seen", ""),
)


def comparison(answer: dict[str, Any]) -> RenderableType:
    """Accelerators in columns, what they are for below."""
    cards = answer["accelerators"]
    rows = [
        (tr(f"faces.compare.{name}"), *(_cell(card[name], unit, name) for card in cards))
        for name, unit in COMPARED
        if any(card[name] not in (None, "") for card in cards)
    ]
    blocks: list[RenderableType] = [table(["", *(card["name"] for card in cards)], rows)]
    for card in cards:
        blocks += [Text(), clean(card["name"], "bold")]
        for key in ("for", "not_for"):
            if card[key]:
                blocks.append(
                    Padding(clean(f"{tr(f'faces.compare.{key}')}: {card[key]}"), (0, 0, 0, 2), expand=False)
                )
    named = {card["id"]: card["name"] for card in cards}
    leaders = [
        (
            _workload(one["workload"]),
            _figure(one["figure"]),
            ", ".join(named[best] for best in one["best"]),
            text.number(one["value"]),
        )
        for one in answer["matters"]
    ]
    header = [tr(f"faces.compare.{key}") for key in ("workload", "decides", "leads", "with")]
    return Group(*blocks, Text(), table(header, leaders, right=(3,)))


def _cell(value: Any, unit: str, name: str) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, str) or name == "year":
        return "–" if value == "none" else str(value)
    return f"{text.number(value)} {unit}".strip()


def _workload(name: str) -> str:
    key = f"report.workload.{name}"
    return tr(key) if has_text(key) else name


def _figure(name: str) -> str:
    figure, _, per_price = name.partition("/")
    told = tr(f"faces.compare.{figure}")
    return f"{told} {tr('faces.compare.per_price')}" if per_price else told


def record(fields: dict[str, Any], sources: dict[str, str]) -> RenderableType:
    """One fact, field by field, with where each was read."""
    header = [tr("faces.field"), tr("faces.value"), tr("faces.source")]
    numbered = {said: at for at, said in enumerate(dict.fromkeys(sources.values()), 1)}
    rows = [
        (name, _value(value), f"[{numbered[sources.get(name, sources[''])]}]")
        for name, value in fields.items()
    ]
    read = (Padding(clean(f"[{at}] {said}"), (0, 0, 0, 2), expand=False) for said, at in numbered.items())
    return Group(table(header, rows), Text(), clean(tr("faces.read_in"), "bold"), *read)


def stacked(above: RenderableType, more: dict[str, list[dict[str, Any]]]) -> RenderableType:
    """A fact, and under it the tables that go with it; sources of rows stand in the JSON."""
    blocks = [above]
    for key, rows in more.items():
        if not rows:
            continue
        names = [name for name in rows[0] if name != "source" and any(row[name] for row in rows)]
        cells = [[_answer(row[name]) for name in names] for row in rows]
        header = [tr(f"faces.matrix.{name}") if has_text(f"faces.matrix.{name}") else name for name in names]
        blocks += [Text(), clean(tr(f"faces.matrix.{key}_title"), "bold"), table(header, cells)]
    return Group(*blocks)


def _answer(value: str) -> str:
    return (
        tr(f"faces.matrix.{value}")
        if value in ("native", "weight-only", "steps", "no", "runs")
        else value or "–"
    )


def _value(value: Any) -> str:
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > 9999):
        return text.number(value, 6)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(one)}" for key, one in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_value, value)) or "–"
    return "–" if value in (None, "") else str(value)


def missing(items: list[Any]) -> RenderableType:
    """What a brief leaves open and will be assumed."""
    blocks: list[RenderableType] = []
    for one in items:
        taken = tr("faces.taken", default=one.default) if one.default else ""
        blocks.append(clean(" ".join(part for part in (one.path, taken) if part), "bold"))
        blocks.append(Padding(clean(f"{one.why} {one.how_to_find_out}".strip()), (0, 0, 0, 2), expand=False))
    return Group(*blocks)


def cautions(found: Sequence[Caution]) -> RenderableType:
    """What does not go together first, then what to mind, then notes."""
    order = ("blocking", "warning", "info")
    blocks: list[RenderableType] = []
    for one in sorted(found, key=lambda one: order.index(one.severity)):
        place = f"{one.where}: " if one.where else ""
        blocks.append(clean(f"{place}{tr(f'faces.check.{one.severity}')}: {one.sentence} [{one.code}]"))
        after = [told for told in (one.cure, accepted(one)) if told]
        blocks += [Padding(clean(told), (0, 0, 0, 2), expand=False) for told in after]
        if one.source:
            blocks.append(
                Padding(clean(tr("faces.check.source", source=origin("", one.source)), "dim"), (0, 0, 0, 2))
            )
    return Group(*blocks)


def catalogue(found: Sequence[Pitfall]) -> RenderableType:
    """Every pitfall: its code and name, where it is looked for, what is said of it and its cure."""
    blocks: list[RenderableType] = []
    for one in found:
        places = ", ".join(tr(f"checks.where.{place}") for place in one.looked_for_in)
        blocks.append(clean(f"{one.code}  {one.name} ({places})", "bold"))
        blocks += [Padding(clean(told), (0, 0, 0, 2), expand=False) for told in (one.sentence, one.cure)]
    return Group(*blocks)


def validation(answer: dict[str, Any]) -> RenderableType:
    """Errors and coverage by metric, verdicts, and the worst rows."""
    header = [
        tr(f"faces.validate.{key}")
        for key in ("metric", "rows", "sources", "median", "headline", "p90", "inside", "width")
    ]
    rows = [
        (
            name,
            text.number(one["n"], 6),
            text.number(one["sources"], 6),
            *(
                _percent(one[key])
                for key in ("median_error_ratio", "source_median_error_ratio", "p90_error_ratio")
            ),
            _percent(one["within_interval_ratio"]),
            _number(one["interval_high_over_low"]),
        )
        for name, one in answer["metrics"].items()
    ]
    fits = answer["fits"]
    told = tr(
        "faces.validate.answered",
        answered=text.number(answer["answered"], 7),
        rows=text.number(answer["rows"], 7),
    )
    blocks: list[RenderableType] = [
        clean(told, "bold"),
        Text(),
        table(header, rows, right=tuple(range(1, 8))),
    ]
    if fits.get("n"):
        blocks += [
            Text(),
            clean(tr("faces.validate.fits", **{key: text.number(fits[key], 6) for key in fits})),
        ]
    blocks += _pairs(answer["pairs"])
    if answer["worst"]:
        worst = [
            (
                str(one["id"]),
                one["metric"],
                *(_number(one[key]) for key in ("measured", "predicted", "low", "high")),
            )
            for one in answer["worst"][:8]
        ]
        names = [
            tr(f"faces.validate.{key}") for key in ("row", "metric", "measured", "predicted", "low", "high")
        ]
        blocks += [Text(), table(names, worst, right=(2, 3, 4, 5))]
    return Group(*blocks)


def _pairs(pairs: dict[str, Any]) -> list[RenderableType]:
    """Of two setups measured on one workload, how often the better one is told."""
    rows = [
        (
            tr(f"faces.validate.{way}"),
            metric,
            text.number(one["n"], 6),
            text.number(one["sources"], 6),
            _percent(one["right_ratio"]),
        )
        for way, metrics in pairs.items()
        for metric, one in metrics.items()
    ]
    keys = ("better", "metric", "pairs", "sources", "told_right")
    header = [tr(f"faces.validate.{key}") for key in keys]
    return [Text(), table(header, rows, right=(2, 3, 4))] if rows else []


def _percent(value: float | None) -> str:
    return "–" if value is None else text.percent(value, 3)


def _number(value: float | None) -> str:
    return "–" if value is None else text.number(value, 4)


def facts_rows(rows: list[dict[str, Any]]) -> RenderableType:
    """Facts of one kind, a few fields of each."""
    header = [tr(f"faces.fact.{name}") for name in rows[0]] if rows else []
    cells = [
        [_size(cell) if name == "usable_bytes" else _value(cell) for name, cell in row.items()]
        for row in rows
    ]
    return table(header, cells)


def _size(value: Any) -> str:
    return text.size(value) if value else "–"
