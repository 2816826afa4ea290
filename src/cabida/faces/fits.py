"""The screens of ``fit``: the verdict first, a picture of the memory, parts that add up, limits, what to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cabida import text
from cabida.faces.answers import context, setup_line
from cabida.faces.grid import Fitting, Grid, clean, table
from cabida.faces.picture import Bar, Key, parts_of
from cabida.report import words as say
from cabida.report.bar import ordered, shown
from cabida.report.fit_limits import sold_first
from cabida.text import tr

Cells = Callable[[dict[str, Any]], dict[str, str]]  # a row's line of a table, by column
MOST_ROWS = 20
LEAST_TOLD = 0.1  # GiB; less than this is told to the hundredth, so that nothing reads -0.0
_MORE = re.compile(r" \+\d+$")
COLOURS = {"fits": "bold green", "tight": "bold yellow", "no": "bold red"}


def fit(answer: dict[str, Any], *, every: bool = False) -> RenderableType:
    """One answer, several accelerators side by side, or the catalogue."""
    if "rows" not in answer:
        return one(answer)
    rows = answer["rows"]
    if rows and "memory_gib" in rows[0]:
        return several(rows)
    return catalogue(answer, every=every)


def one(
    answer: dict[str, Any], line: str = "", told: Sequence[str] = (), limits: Sequence[tuple[str, str]] = ()
) -> RenderableType:
    """Does this fit: the verdict, what fills the memory, how far it goes, what to change.

    Args:
        answer: about one accelerator.
        line: what was asked about; that of a language model when left out.
        told: sentences after the verdict.
        limits: how far it goes; those of a language model when left out.
    """
    blocks: list[RenderableType] = [clean(line or setup_line(answer)), Text()]
    blocks += [clean(verdict(answer), COLOURS[answer["verdict"]]), *map(clean, [*_doubt(answer), *told])]
    blocks += [clean(f"{tr('faces.check.warning')}: {told['sentence']}") for told in answer["warnings"]]
    blocks += [Text(), Bar(parts_of(answer), answer["usable_gib"]), Text(), parts_table(answer)]
    if rule := _rule(answer):
        blocks += [Text(), clean(rule)]
    blocks += [Text(), pairs(limits or _limits(answer))]
    blocks += _changes("faces.fit.changes", answer["changes"])
    if answer["cure"] and not answer["changes"]:
        blocks += [Text(), clean(answer["cure"], "bold")]
    window = answer.get("window")
    if window and answer["verdict"] != "no":
        title = tr("faces.fit.window_changes", tokens=text.number(window["context_tokens"], 15))
        blocks += _changes("", window["changes"], title)
    if answer.get("mig"):
        heading = clean(tr("report.mig.title"), "bold")
        advice = answer["mig"]["sentences"]
        blocks += [Text(), heading, *(Padding(clean(one), (0, 0, 0, 2), expand=False) for one in advice)]
    if answer.get("observed"):
        from cabida.faces.observed import alike

        blocks += [Text(), *alike(answer["observed"])]
    return Group(*blocks)


def verdict(answer: dict[str, Any]) -> str:
    """The verdict with its margin."""
    if answer.get("starved"):
        slots, asked = (text.number(answer[key], 15) for key in ("state_slots", "max_num_seqs"))
        return tr("faces.fit.starved", slots=slots, asked=asked)
    on = "the_processor" if answer["gpu"] == "cpu" else "each_gpu" if answer["gpus"] > 1 else "the_gpu"
    where = tr(f"faces.fit.{on}")
    return tr(f"faces.verdict.{answer['verdict']}", size=_gib(abs(answer["headroom_gib"])), where=where)


def _doubt(answer: dict[str, Any]) -> list[str]:
    """How sure that is, and what decides when it is not."""
    margin, decides = answer["margin_gib"], answer["decides"]
    state = f"{answer['verdict']}.{answer['sureness']}"
    worst = margin.low if answer["verdict"] != "no" else margin.high
    ends = {"low": _two(margin.low), "high": _two(margin.high)}
    told = [tr(f"faces.fit.sure.{state}", size=_gib(abs(worst)), **ends)] if margin.high > margin.low else []
    if answer.get("starved"):
        told = []
    elif answer.get("crowded"):
        told.append(tr("faces.fit.crowded", engine=answer["engine"]))
    elif decides and answer["sureness"] != "sure":
        told.append(_decides(answer, decides))
    return [*told, *_window(answer)]


def _decides(answer: dict[str, Any], decides: dict[str, Any]) -> str:
    """The part least known; of a training run whose margin is far wider than that part, the whole peak."""
    low, high, margin = decides["low_gib"], decides["high_gib"], answer["margin_gib"]
    key = "decides_training" if "micro_batch" in answer else "decides"
    if "micro_batch" in answer and high - low < (margin.high - margin.low) / 2:
        peak = answer["metrics"]["peak_gib_per_gpu"]
        key, low, high = "decides_whole", peak.low, peak.high
    return tr(f"faces.fit.{key}", part=say.part(decides["part"]), low=_two(low), high=_two(high))


def _window(answer: dict[str, Any]) -> list[str]:
    """What the model's whole context would take; nothing where even the shorter one asked for does not fit."""
    window, asked = answer.get("window"), answer.get("context_from") == "asked"
    if not window or (asked and answer["verdict"] == "no"):
        return []
    told = tr(
        f"faces.fit.window.{window['verdict']}",
        tokens=text.number(window["context_tokens"], 15),
        size=_gib(abs(window["headroom_gib"])),
    )
    unset = window["verdict"] == "no" and not asked
    return [f"{told} {tr('faces.fit.window.set')}" if unset else told]


def parts_table(answer: dict[str, Any]) -> Table:
    """What fills one card: shown parts that add up to what the driver shows."""
    parts, usable = answer["memory_gib"], answer["usable_gib"]
    missing = round(parts.get("missing", 0.0), 2)
    drawn = shown(ordered(parts), round(usable, 2) + missing)
    made = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "right", "left"):
        made.add_column(justify=justify, no_wrap=justify != "left")
    for name, size in drawn.items():
        low_high = answer["intervals_gib"].get(name)
        span = f"[{say.decimal(low_high[0], 2)}–{say.decimal(low_high[1], 2)}]" if low_high else ""
        made.add_row(
            Key(name),
            clean(part_name(name, answer)),
            *map(clean, (_two(size), "" if missing else _share(size, usable), span)),
        )
    if missing:
        made.add_row(Key("missing"), clean(say.part("missing")), clean(f"-{_two(missing)}"), "", "")
    by = "evidence.machine.free_here" if answer["gpu"] == "cpu" else "faces.fit.driver"
    made.add_row("", clean(tr(by), "bold"), clean(f"{_two(usable)} GiB", "bold"), "", "")
    return made


def part_name(name: str, answer: dict[str, Any]) -> str:
    """A part in words: the cache says of how many requests, what is left alone says by whom."""
    if name == "cache":
        count, tokens = answer["sequences"], text.number(answer["context_tokens"], 15)
        return tr("faces.fit.part.cache", count=text.number(count, 15), tokens=tokens)
    if name == "reserve":
        pool = answer.get("cache_is_pool")
        return tr("faces.fit.part.reserve", engine=answer["engine"]) if pool else tr("faces.fit.part.driver")
    return say.part(name)


def _rule(answer: dict[str, Any]) -> str:
    """How the engine shares memory out, since that is what surprises people."""
    if "budget_gib" not in answer:
        return ""
    return tr(
        f"faces.fit.rule.{answer['budget_rule']}",
        engine=answer["engine"],
        budget=_two(answer["budget_gib"]),
        usable=_two(answer["usable_gib"]),
    )


def _limits(answer: dict[str, Any]) -> list[tuple[str, str]]:
    if "micro_batch" in answer:
        return [(tr("faces.fit.batch"), _largest_run(answer)), (tr("faces.fit.to_serve"), _to_serve(answer))]
    return _serving_limits(answer)


def _to_serve(answer: dict[str, Any]) -> str:
    """Why training takes so much more: the same model at rest, and what training holds besides."""
    found = answer["served"]
    return tr(
        "faces.fit.to_serve_told",
        weights=_gib(found["weights_gib"]),
        cache=_gib(found["kv_cache_gib"]),
        times=text.number(found["times"], 2),
        part=say.part(found["part"]),
        size=_gib(found["part_gib"]),
    )


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """A name and what is told of it, line by line."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column()
    for name, told in rows:
        made.add_row(clean(name), clean(told))
    return made


def _largest_run(answer: dict[str, Any]) -> str:
    if not answer["largest_micro_batch"] and not answer["largest_seq_tokens"]:
        return tr("faces.media.nothing_fits")
    return tr(
        "faces.largest_training",
        batch=text.number(answer["largest_micro_batch"], 4),
        tokens=text.number(answer["largest_seq_tokens"], 6),
    )


def _serving_limits(answer: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(tr("faces.fit.context"), largest(answer))]
    counts = [
        f"{text.number(one['sequences'], 15)} × {text.number(one['context_tokens'], 15)}"
        for one in answer["concurrency"]
        if one["sequences"]
    ]
    if counts:
        rows.append((tr("faces.fit.at_once"), " · ".join(counts)))
    if alike := answer.get("requests"):
        told = {name: text.number(value, 15) for name, value in alike.items()}
        rows.append((tr("faces.fit.requests"), tr("faces.fit.requests_told", **told)))
    tokens = answer["metrics"]["kv_cache_tokens"]
    if answer["cache_is_pool"] and tokens.value > 0:
        low, value, high = (text.number(int(one), 15) for one in (tokens.low, tokens.value, tokens.high))
        rows.append((say.label("kv_cache_tokens"), tr("faces.fit.pool", low=low, tokens=value, high=high)))
    kin = answer["largest_in_family"]
    if kin and kin["model"] != answer["model"]:
        rows.append((tr("faces.fit.family"), f"{kin['model']} ({text.number(kin['params'] / 1e9)} B)"))
    return rows


def largest(answer: dict[str, Any]) -> str:
    """The longest context of one request, and where the model itself ends."""
    room, most = answer["largest_context_tokens"], answer["model_context_tokens"]
    if room is None:
        return tr("faces.fit.no_growth")
    if room < 1:
        return tr("faces.fit.no_context")
    key = "largest_context_beyond" if most and room > most else "largest_context"
    told = tr(f"faces.{key}", tokens=text.number(room, 15), most=text.number(most or room, 15))
    if (many := answer.get("sequences", 1)) > 1:
        told = tr("faces.fit.largest_many", count=text.number(many, 15), tokens=text.number(room, 15))
    safe = answer.get("largest_sure_context_tokens")
    if safe and safe < min(room, most or room):
        told += " " + tr("faces.fit.safely", tokens=text.number(safe, 15))
    return told


def _changes(key: str, offered: Sequence[dict[str, Any]], title: str = "") -> list[RenderableType]:
    if not offered:
        return []
    blocks: list[RenderableType] = [Text(), clean(title or tr(key), "bold")]
    for one in offered:
        told = tr(
            f"faces.fit.change.{one['verdict']}", size=_gib(one["headroom_gib"]), gain=_gib(one["gain_gib"])
        )
        blocks.append(Padding(clean(one["flags"], "bold"), (0, 0, 0, 2), expand=False))
        blocks.append(Padding(clean(f"{told}: {one['costs']}"), (0, 0, 0, 6), expand=False))
    return blocks


def several(
    rows: Sequence[dict[str, Any]], title: Sequence[str] = (), cells: Cells | None = None
) -> RenderableType:
    """Accelerators side by side, each for itself, their bars on one scale."""
    first = rows[0]
    alike = bool(title) or len({context(row) for row in rows}) == 1
    same = list(title) or [
        first["model"],
        first["weights"],
        first.get("engine", first.get("method", "")),
        context(first) if alike else "",
    ]
    total = max(row["usable_gib"] + row["memory_gib"].get("missing", 0.0) for row in rows)
    blocks: list[RenderableType] = [clean(" · ".join(one for one in same if one), "bold")]
    names: dict[str, None] = {}
    for row in rows:
        name = f"{row['gpus']}×{row['gpu']}" + ("" if alike else f" · {context(row)}")
        blocks += [Text(), Text.assemble(clean(f"{name}: "), clean(verdict(row), COLOURS[row["verdict"]]))]
        blocks.append(Bar(parts_of(row), row["usable_gib"], total))
        names |= dict.fromkeys(ordered(parts_of(row)))
        names |= {"missing": None} if row["memory_gib"].get("missing", 0.0) > 0 else {}
    legend = Table.grid(padding=(0, 1, 0, 0))
    for name in names:
        legend.add_row(Key(name), clean(_shared_name(name, rows)))
    blocks += [Text(), legend, Text(), _table([(cells or _cells)(row) for row in rows], ["model"])]
    return Group(*blocks)


def _shared_name(part: str, rows: Sequence[dict[str, Any]]) -> str:
    """The name of a part where all rows mean the same by it."""
    told = {part_name(part, row) for row in rows}
    return told.pop() if len(told) == 1 and part == "reserve" else say.part(part)


def catalogue(
    answer: dict[str, Any], *, every: bool = False, title: Sequence[str] = (), cells: Cells | None = None
) -> RenderableType:
    """One line for each accelerator or model; what all lines share stands above."""
    rows = answer["rows"]
    models = len({row.get("model") for row in rows}) > 1 and "params" in rows[0]
    rows = sold_first(rows) if models else rows
    left_out = answer.get("left_out", 0)
    if not rows:
        return clean(tr("faces.fit.none", count=text.number(left_out, 6)), COLOURS["no"])
    told = _together([(cells or _cells)(row) for row in rows])
    same = [key for key in ("model", "gpu", "weights") if len({line.get(key) for line in told}) == 1]
    listed = told if every else told[:MOST_ROWS]
    shared = [*(told[0][key] for key in same if told[0].get(key)), *title]
    head = [clean(" · ".join(shared), "bold")] if shared else []
    blocks: list[RenderableType] = [
        *head,
        clean(_tally(rows, left_out)),
        Text(),
        _table(listed, same),
    ]
    blocks += [clean(tr("faces.fit.sold_first"))] if models else []
    if any(_MORE.search(line["model"]) for line in listed):
        blocks.append(clean(tr("faces.fit.alike")))
    if len(listed) < len(told):
        blocks.append(clean(tr("faces.fit.more", count=text.number(len(told) - len(listed), 6))))
    return Group(*blocks)


def _tally(rows: Sequence[dict[str, Any]], left_out: int) -> str:
    """How many fit, nearly fit, or do not."""
    counts = {name: sum(row["verdict"] == name and row["runs"] for row in rows) for name in COLOURS}
    told = tr("faces.fit.tally", **{name: text.number(count, 15) for name, count in counts.items()})
    idle = sum(not row["runs"] for row in rows)
    more = [tr("faces.fit.idle", count=text.number(idle, 6))] if idle else []
    more += [tr("faces.fit.left_out", count=text.number(left_out, 6))] if left_out else []
    return " ".join([told, *more])


def _table(told: Sequence[dict[str, str]], same: Sequence[str] = ()) -> RenderableType:
    """The lines as a table; a narrow terminal leaves the lesser columns out."""
    keys = [key for key in told[0] if key not in same and any(cells[key] for cells in told)]
    few = [key for key in keys if key not in ("engine", "parameters", "context")]
    return Fitting(_grid(told, keys), _grid(told, few))


def _grid(told: Sequence[dict[str, str]], keys: Sequence[str]) -> Grid:
    right = [
        at for at, key in enumerate(keys) if key in ("headroom", "room", "context", "parameters", "needs")
    ]
    rows = [[cells[key] for key in keys] for cells in told]
    return table([tr(f"faces.{key}") for key in keys], rows, right, whole=range(1, len(keys)))


def _together(told: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """One line for models of one maker that differ in nothing shown: a base model and its chat version."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for cells in told:
        maker = cells["model"].partition("/")[0]
        groups.setdefault((maker, *(cells[key] for key in cells if key != "model")), []).append(cells)
    return [
        group[0] | ({"model": f"{group[0]['model']} +{len(group) - 1}"} if len(group) > 1 else {})
        for group in groups.values()
    ]


def _cells(row: dict[str, Any]) -> dict[str, str]:
    room = row.get("largest_context_tokens") if "context_tokens" in row else row.get("largest_seq_tokens")
    spare = row["headroom_gib"]
    params = row.get("params")
    return {
        "model": row["model"],
        "gpu": f"{row['gpus']}×{row['gpu']}",
        "parameters": f"{text.number(params / 1e9)} B" if params else "",
        "weights": row["weights"],
        "engine": row.get("engine", row.get("method", "")) if row["runs"] else tr("faces.no_engine"),
        "verdict": tr(f"faces.verdict_short.{row['verdict']}"),
        "headroom": spared(spare),
        "context": text.number(row["context_tokens"], 15) if row.get("context_tokens") else "",
        "room": text.number(room, 15) if room else "∞" if room is None else "–",
    }


def spared(size: float) -> str:
    """GiB to spare in a table, or missing."""
    return f"{'-' if size < 0 else ''}{say.decimal(abs(size), 1 if abs(size) >= LEAST_TOLD else 2)} GiB"


def _gib(size: float) -> str:
    return f"{say.decimal(size, 2)} GiB"


def _two(size: float) -> str:
    return say.decimal(size, 2)


def _share(size: float, usable: float) -> str:
    return f"{say.decimal(100 * size / usable, 0)} %" if usable > 0 else ""
