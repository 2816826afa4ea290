"""The screens of a terminal: the answer first, then why, then what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cabida import text
from cabida.plan import Decision, Estimate, Option
from cabida.plan.decision import LATENCIES, STATISTICS
from cabida.report import words as say
from cabida.report.every_form import (
    chance,
    first,
    fits,
    footer,
    headline,
    measurement,
    metrics_line,
    replicas,
)
from cabida.report.metrics import RATES
from cabida.report.tree import Branch, lines, value_of
from cabida.text import has_text, tr

MOST_OPTIONS = 5
SHORT = 36  # a first column no wider than this never wraps
LEAST = 8  # letters that a column keeps, however narrow the terminal
FEW = 12  # nor does any other column of so few letters


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Table:
    """A plain table; columns in ``right`` are aligned right, those in ``whole`` never wrap (else a short first)."""
    cells = [list(row) for row in rows]
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for at, name in enumerate(header):
        longest = max((len(row[at]) for row in cells), default=0)
        short = at in whole or longest <= (SHORT if at == 0 and not whole else FEW) >= len(name) - 2
        words = [len(word) for row in cells for word in row[at].split()] + [len(name)]
        made.add_column(
            Text(name),
            justify="right" if at in right else "left",
            overflow="fold",
            no_wrap=short,
            min_width=min(LEAST, max(words)),
        )
    for row in cells:
        made.add_row(*(clean(cell) for cell in row))
    return made


def clean(content: str, style: str = "") -> Text:
    """Text without control characters, so that a name can't drive the terminal."""
    return Text("".join(one for one in content if one.isprintable() or one in "\n\u00a0"), style=style)


def decision(d: Decision, *, every: bool = False, paths: Sequence[Path] = ()) -> RenderableType:
    """The screen of ``cabida recommend``."""
    with say.speaking(d.language):
        shown = d.options if every else _worth_a_look(d.options)
        blocks: list[RenderableType] = [
            clean(f"{d.name} · {headline(d)}"),
            Text(),
            clean(d.answer, "bold"),
            Text(),
            *(_option(one, d) for one in shown),
            *_fell(d, every),
        ]
        blocks += _titled("flips", [one.sentence for one in d.flips])
        blocks += _titled("measure", [measurement(one, d) + _arrow(one.command) for one in d.measurements])
        careful = [f"{one.sentence} [{one.code}]" for one in d.warnings if every or one.severity != "info"]
        if d.assumptions:
            told = [f"{say.assumption(one.name)}: {one.value}" for one in d.assumptions]
            careful.append(tr("faces.assumptions", count=len(told), names="; ".join(told)))
        blocks += _titled("careful", careful)
        best = first(d)
        if best is not None and best.command:
            blocks += [
                clean(tr("report.section.command"), "bold"),
                *([clean(replicas(best))] if replicas(best) else []),
                Padding(clean(best.command), (0, 0, 0, 2), expand=False),
                Text(),
            ]
        if paths:
            blocks.append(clean(tr("faces.record", paths=" · ".join(map(str, paths)))))
        blocks.append(clean(footer(d), "dim"))
        return Group(*blocks)


def _worth_a_look(options: Sequence[Option]) -> list[Option]:
    """The first options, and the best of what is already held: whoever has machines asks why not those."""
    held = next((one for one in options[MOST_OPTIONS:] if one.capacity == "have"), None)
    seen = any(one.capacity == "have" for one in options[:MOST_OPTIONS])
    return [*options[:MOST_OPTIONS], *([held] if held and not seen else [])]


def _arrow(command: str) -> str:
    return f" → {command}" if command else ""


def _option(one: Option, d: Decision) -> RenderableType:
    mark = {"chosen": "▸", "satisfies": " ", "misses": "△", "ruled_out": "×"}.get(one.status, " ")
    top = Table.grid(expand=True, padding=(0, 1))
    top.add_column(width=5)
    top.add_column(ratio=1)
    top.add_column(justify="right", no_wrap=True)
    chosen = "bold" if one.status == "chosen" else ""
    top.add_row(clean(f"{one.rank:>3} {mark}"), clean(one.title, chosen), clean(say.cost(one, d), chosen))
    below = [" · ".join([f"{say.unit_cost(one, d)} {say.per_output(d)}", *metrics_line(one, d)])]
    if one.status in ("misses", "ruled_out"):
        below = [*one.reasons, *below]
    else:
        below.append(" · ".join(said for said in (fits(one), chance(one)) if said))
    return Group(top, *(Padding(clean(said), (0, 0, 0, 6), expand=False) for said in below if said), Text())


def _fell(d: Decision, every: bool) -> list[RenderableType]:
    if not d.rejections:
        return []
    count = text.number(sum(one.count for one in d.rejections), 7)
    title = tr("faces.fell", count=count) + ("" if every else "   (cabida recommend --all)")
    told = Table.grid(padding=(0, 2, 0, 0))
    told.add_column(justify="right", no_wrap=True)
    told.add_column()
    for one in d.rejections:
        told.add_row(text.number(one.count, 7), clean(say.rejection(one, example=every)))
    return [clean(f"  …   {title}"), Padding(told, (0, 0, 0, 6), expand=False), Text()]


def _titled(key: str, sentences: Sequence[str]) -> list[RenderableType]:
    if not sentences:
        return []
    title = clean(tr(f"report.section.{key}"), "bold")
    return [title, *(Padding(clean(one), (0, 0, 0, 2), expand=False) for one in sentences), Text()]


def metrics(found: dict[str, Estimate], currency: str = "") -> Table:
    """Metrics with their intervals."""
    header = [tr("report.metric_head"), tr("faces.value"), tr("faces.basis")]
    return table(
        header,
        [(say.label(k), say.figure(k, one, currency), say.grade(one.basis)) for k, one in found.items()],
    )


def setup_line(answer: dict[str, Any]) -> str:
    """``meta-llama/Llama-3.3-70B-Instruct · 2×h100-sxm-80 tp2 · fp8 · KV bf16 · vllm``."""
    parts = " ".join(f"{name}{size}" for name, size in answer.get("split", {}).items())
    engine = f"{answer.get('engine', '')} {answer.get('engine_version', '')}".strip()
    context = _context(answer)
    cache = f"KV {answer['kv_cache']}" if answer.get("kv_cache") else ""
    method = " ".join(str(answer[key]) for key in ("method", "sharding", "optimizer") if answer.get(key))
    pieces = [
        answer["model"],
        f"{answer['gpus']}×{answer['gpu']} {parts}".strip(),
        answer["weights"],
        cache,
        method,
        engine,
        context,
    ]
    return " · ".join(piece for piece in pieces if piece)


def _context(answer: dict[str, Any]) -> str:
    if answer.get("max_model_len"):
        return tr("faces.context_of", tokens=text.number(answer["max_model_len"], 7))
    if answer.get("model_context_tokens"):
        return tr("faces.context_longest", tokens=text.number(answer["model_context_tokens"], 7))
    return ""


def _largest(answer: dict[str, Any]) -> str:
    room, most = answer["largest_context_tokens"], answer.get("model_context_tokens")
    key = "largest_context_beyond" if most and room > most else "largest_context"
    return tr(f"faces.{key}", tokens=text.number(room, 6), most=text.number(most or room, 7))


def fit_one(answer: dict[str, Any]) -> RenderableType:
    """Does this fit: the verdict, what fills the memory, what to change."""
    spare = abs(answer["headroom_gib"])
    verdict = tr(f"faces.verdict.{answer['verdict']}", size=text.size(spare * 2**30))
    rows = [(say.part(name), f"{text.number(size, 4)} GiB") for name, size in answer["parts_gib"].items()]
    rows.append((tr("report.usable"), f"{text.number(answer['usable_gib'], 4)} GiB"))
    facts = [verdict]
    if answer.get("largest_context_tokens"):
        facts.append(_largest(answer))
    if answer.get("largest_micro_batch") is not None:
        facts.append(
            tr(
                "faces.largest_training",
                batch=text.number(answer["largest_micro_batch"], 4),
                tokens=text.number(answer["largest_seq_tokens"], 6),
            )
        )
    facts += [answer["cure"]] if answer["cure"] else []
    return Group(
        clean(setup_line(answer)),
        Text(),
        *(clean(one, "bold" if at == 0 else "") for at, one in enumerate(facts)),
        Text(),
        table([tr("faces.per_gpu"), ""], rows, right=(1,)),
        Text(),
        metrics(answer["metrics"]),
    )


def fit_rows(answer: dict[str, Any]) -> RenderableType:
    """One line for each accelerator or model; what all lines share stands above."""
    told = [_fit_cells(row) for row in answer["rows"]]
    same = [key for key in ("model", "gpu", "weights") if len({cells[key] for cells in told}) == 1]
    shown = [key for key in told[0] if key not in same] if told else []
    right = [at for at, key in enumerate(shown) if key in ("headroom", "room")]
    head = " · ".join(told[0][key] for key in same) if told else ""
    rows = [[cells[key] for key in shown] for cells in told]
    return Group(clean(head, "bold"), Text(), table([tr(f"faces.{key}") for key in shown], rows, right))


def _fit_cells(row: dict[str, Any]) -> dict[str, str]:
    context = row.get("largest_context_tokens") or row.get("largest_seq_tokens")
    return {
        "model": row["model"],
        "gpu": f"{row['gpus']}×{row['gpu']}",
        "weights": row["weights"],
        "engine": row.get("engine", row.get("method", "")) if row["runs"] else tr("faces.no_engine"),
        "verdict": tr(f"faces.verdict_short.{row['verdict']}"),
        "headroom": f"{text.number(row['headroom_gib'])} GiB",
        "room": text.number(context, 6) if context else "–",
    }


def speed(answer: dict[str, Any]) -> RenderableType:
    """Latencies by statistic, and rates."""
    found = answer["metrics"]
    blocks: list[RenderableType] = [clean(setup_line(answer)), *_carried(answer), Text()]
    if answer["saturated"]:
        blocks += [clean(tr("faces.saturated"), "bold"), Text()]
    header = ["", *(tr("report.mean") if one == "mean" else one for one in STATISTICS)]
    latencies = [
        (
            say.label(f"{name}_ms"),
            *(say.figure(f"{name}_ms", found[f"{name}_ms_{one}"]) for one in STATISTICS),
        )
        for name in LATENCIES
        if f"{name}_ms_mean" in found
    ]
    rates = [f"{say.label(name)} {say.figure(name, found[name])}" for name in RATES]
    return Group(*blocks, table(header, latencies), Text(), clean(" · ".join(rates)))


def _carried(answer: dict[str, Any]) -> list[Text]:
    """The load that the figures are about, also when nobody named one."""
    load = answer.get("load")
    if not load:
        return []
    how = "at_once" if load["concurrency"] is not None else "each_second"
    shape = tr(
        f"faces.load.{how}",
        count=text.number(load["concurrency"] if how == "at_once" else load["requests_per_s"]),
        read=text.number(load["input_tokens"], 7),
        written=text.number(load["output_tokens"], 7),
    )
    return [clean(shape)]


NARROW = 100  # columns below which a table of offers leaves the lesser columns out


class Fitting:
    """A table wide or narrow, as the terminal is."""

    def __init__(self, wide: Table, narrow: Table) -> None:
        self.wide, self.narrow = wide, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        yield self.wide if options.max_width >= NARROW else self.narrow


def cost(answer: dict[str, Any]) -> RenderableType:
    """One line for each offer, cheapest first."""
    rows = [_cost_cells(row) for row in answer["rows"]]
    told = tr("faces.cost_note", utilisation=text.percent(answer["utilisation"]), currency=answer["currency"])
    tables = [
        table(
            [tr(f"faces.{key}") for key in keys],
            [[row[key] for key in keys] for row in rows],
            right=(2, 3, 4) if "people" in keys else (2, 3),
            whole=tuple(range(1, 8 if "flags" in keys else 6)),
        )
        for keys in (
            ("provider", "capacity", "price_hour", "month", "people", "thousand", "mtok", "seen", "flags"),
            ("provider", "capacity", "price_hour", "month", "thousand", "seen"),
        )
    ]
    return Group(clean(setup_line(answer)), *_carried(answer), clean(told), Text(), Fitting(*tables))


def _cost_cells(row: dict[str, Any]) -> dict[str, str]:
    return {
        "provider": f"{row['provider']} {row['region']}".strip(),
        "capacity": held(row["capacity"]),
        "price_hour": text.number(row["price_money_per_hour"]),
        "month": text.money(row["cost_per_month_money"], "").strip(),
        "people": text.money(row["lines"].get("platform_labour", 0.0), "").strip(),
        "thousand": say.span(row["metrics"]["accepted_answer_money"], 1000),
        "mtok": say.span(row["metrics"]["output_mtok_money"]),
        "seen": row["seen"] or tr("report.undated"),
        "flags": ", ".join(tr(f"faces.flag.{one}") for one in row["flags"]),
    }


def held(capacity: str) -> str:
    """How capacity is held, in words."""
    key = f"choose.capacity.{capacity}"
    return tr(key) if has_text(key) else capacity


def energy(answer: dict[str, Any], most: int = 10) -> RenderableType:
    """A year's electricity and the API tokens it would buy."""
    currency, spent = answer["currency"], answer["cost_money"].value
    told = tr(
        "faces.energy",
        watts=text.number(answer["watts"], 6),
        hours=text.number(answer["hours"], 6),
        kwh=text.number(answer["kwh"], 6),
        money=f"{say.decimal(spent, 2)} {currency}",
    )
    rows = [
        (
            row["model"],
            row["provider"],
            text.money(row["money_per_mtok"], currency),
            f"{text.number(row['mtok'])} M",
            row["seen"],
        )
        for row in answer["api"][:most]
    ]
    header = [tr(f"faces.{key}") for key in ("model", "provider", "mtok", "tokens_bought", "seen")]
    blocks: list[RenderableType] = [clean(told, "bold")]
    return Group(*blocks, Text(), table(header, rows, right=(2, 3))) if rows else Group(*blocks)


def figures(d: Decision) -> RenderableType:
    """The figures of the first option that can be asked about, with their values."""
    best, by_id = first(d), {node["id"]: node for node in d.trees}
    if best is None or not best.trees:
        return clean(tr("faces.nothing_explained"))
    with say.speaking(d.language):
        rows = [(name, value_of(by_id[at], d.currency)) for name, at in best.trees.items() if at in by_id]
        blocks: list[RenderableType] = [
            clean(tr("faces.explain.figures", rank=best.rank, title=best.title), "bold"),
            Text(),
            table([tr("report.metric_head"), tr("faces.value")], rows),
        ]
        if other := next((one for one in d.options if one.trees and one.id != best.id), None):
            example = f"{other.rank}.{next(iter(other.trees))}"
            blocks += [Text(), clean(tr("faces.explain.others", example=example))]
        return Group(*blocks)


def tree(top: Branch) -> RenderableType:
    """The tree under a number."""
    indented = ((line.lstrip(), len(line) - len(line.lstrip())) for line in lines(top))
    return Group(*(Padding(clean(line), (0, 0, 0, indent), expand=False) for line, indent in indented))
