"""The screens of observations: what logs said, and beside it what is predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.evidence.notes import spoken
from cabida.faces.grid import Fitting, Grid, clean, table
from cabida.report import words as say
from cabida.text import has_text, tr

ORDER = (
    "weights_gib_per_gpu", "weights_gib_total", "kv_cache_gib_per_gpu", "kv_cache_gib_total", "kv_cache_tokens",
    "max_concurrency", "kv_needed_gib", "estimated_max_model_len", "recurrent_state_gib", "activation_peak_gib",
    "cuda_graph_gib", "cuda_graph_estimated_gib", "non_torch_gib", "peak_gib_per_gpu", "peak_gib_total",
)  # fmt: skip
MOST_SHOWN = 20  # observations of one file on the screen
TINY_RATIO = 0.001  # an error below this is told as less than a tenth of a per cent
WORDS_SHOWN = 300  # of a line nobody understood


def imports(answer: dict[str, Any]) -> RenderableType:
    """Each file with its observations, and where they are kept."""
    blocks: list[RenderableType] = []
    for file in answer["files"]:
        blocks += [clean(_file_line(file), "bold"), Text()]
        for one in file["overruled"]:
            blocks += [clean(tr("faces.observed.overruled", **one)), Text()]
        if file["also"]:
            blocks += [clean(tr("faces.observed.also", formats=", ".join(file["also"]))), Text()]
        for one in file["observations"][:MOST_SHOWN]:
            blocks += [*_observation(one), Text()]
        if (more := len(file["observations"]) - MOST_SHOWN) > 0:
            blocks += [clean(tr("faces.observed.more", count=text.number(more, 9))), Text()]
    if answer["store"] and answer["files"]:
        blocks.append(clean(tr("faces.observed.kept", store=answer["store"])))
    if case := answer.get("case"):
        key = "faces.observed.case" if case["written"] else "faces.observed.case_dry"
        blocks.append(clean(tr(key, file=case["file"], count=case["rows"])))
    return Group(*blocks)


def _file_line(file: dict[str, Any]) -> str:
    return tr(
        "faces.observed.file",
        file=file["file"],
        format=file["format"],
        count=len(file["observations"]),
        new=file["new"],
        lines=text.number(file["lines"], 9),
        unknown=text.number(file["unknown_lines"], 9),
    )


def _observation(one: dict[str, Any]) -> list[RenderableType]:
    blocks: list[RenderableType] = [clean(" · ".join(filter(None, (one["id"], setup_line(one["setup"])))))]
    if under := load_line(one["load"]):
        blocks.append(clean(under))
    if ended := how_it_ended(one):
        blocks.append(clean(ended))
    if one["figures"]:
        blocks += [Text(), figures(one["figures"])]
    if one["not_predicted"]:
        blocks.append(clean(tr("faces.observed.not_predicted", why=one["not_predicted"])))
    if one["not_said"]:
        names = ", ".join(_named(key) for key in one["not_said"])
        blocks.append(clean(tr("faces.observed.not_said", names=names)))
    if one["note"]:
        blocks.append(Padding(clean(spoken(one["note"])), (0, 0, 0, 2), expand=False))
    return blocks


def setup_line(setup: dict[str, Any]) -> str:
    """``meta-llama/Llama-3.1-8B-Instruct · 2×h100-sxm-80 tp2 · bf16 · vllm 0.11.0 · max_model_len 32,768``."""
    split = " ".join(f"{key}{setup[key]}" for key in ("tp", "pp", "dp", "ep", "cp") if setup.get(key, 1) != 1)
    card = (
        setup.get("gpu")
        or setup.get("gpu_raw")
        or (f"{setup['gpu_memory_gib']} GiB" if setup.get("gpu_memory_gib") else "")
    )
    count = f"{setup['gpus']}×" if card and setup.get("gpus") else ""
    cache = f"KV {setup['kv_cache']}" if setup.get("kv_cache") else ""
    engine = f"{setup.get('engine', '')} {setup.get('engine_version', '')}".strip()
    flags = [f"{key} {_plain(value)}" for key, value in setup.get("args", {}).items()]
    pieces = (
        setup.get("model", ""),
        f"{count}{card} {split}".strip(),
        setup.get("weights", ""),
        cache,
        engine,
        *flags,
    )
    return " · ".join(str(piece) for piece in pieces if piece)


def load_line(load: dict[str, Any]) -> str:
    """``Under 16 at once · 8 req/s · 1,024 tokens in · 128 tokens out``; "" = no load was said."""
    said = [
        tr(f"faces.observed.load.{key}", value=text.number(load[key], 6))
        for key in ("concurrency", "requests_per_s", "input_tokens", "output_tokens")
        if isinstance(load.get(key), int | float) and not isinstance(load[key], bool)
    ]
    return tr("faces.observed.load", said=" · ".join(said)) if said else ""


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return text.number(value, 12 if isinstance(value, int) else 6)


def how_it_ended(one: dict[str, Any]) -> str:
    """What happened, and what is predicted to."""
    if one["fitted"] is None:
        return ""
    happened = tr("faces.observed.started" if one["fitted"] else "faces.observed.failed")
    if one["verdict"] is None:
        return happened
    return tr("faces.observed.both", happened=happened, verdict=tr(f"faces.verdict_short.{one['verdict']}"))


def figures(found: dict[str, dict[str, float]]) -> Grid:
    """Each figure measured, and where there is one its prediction with the interval and the error."""
    header = [tr(f"faces.observed.{key}") for key in ("figure", "measured", "predicted", "interval", "error")]
    named = sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    return table(
        header, [figure_row(name, found[name]) for name in named], right=(1, 2, 3, 4), whole=(1, 2, 3, 4)
    )


def figure_row(name: str, one: dict[str, Any]) -> list[str]:
    """Cells of one figure: measured, predicted, its interval, how far off."""
    unit = "GiB" if "_gib" in name else say.kind_of(name)
    share = unit == "%"  # kept as a ratio
    cells = [
        label(name),
        text.percent(one["measured"]) if share else f"{_plain(one['measured'])} {unit}".strip(),
    ]
    if "predicted" not in one:
        return [*cells, "–", "–", "–"]
    shown = text.percent if share else _four
    between = f"{shown(one['low'])}–{shown(one['high'])}"
    tiny = one["error_ratio"] < TINY_RATIO
    error = f"< {text.percent(TINY_RATIO)}" if tiny else text.percent(one["error_ratio"])
    return [*cells, shown(one["predicted"]), between, error]


def _four(value: float) -> str:
    return text.number(value, 4)


def label(name: str) -> str:
    """What a figure is called."""
    key = f"evidence.metric.{name}"
    return tr(key) if has_text(key) else say.label(name)


def _named(key: str) -> str:
    return tr(f"faces.observed.setup.{key}")


def rows(found: Iterable[dict[str, Any]]) -> RenderableType:
    """One line for each observation of the store."""
    cells = [
        (
            one["id"],
            str(one["model"] or "–"),
            f"{one['gpus'] or ''}{'×' if one['gpus'] else ''}{one['gpu'] or '?'}",
            str(one["weights"] or "–"),
            f"{one['engine'] or '–'} {one['engine_version'] or ''}".strip(),
            {True: tr("faces.observed.yes"), False: tr("faces.observed.no")}.get(one["fitted"], "–"),
            tr(f"faces.observed.mark.{one['mark']}") if one["mark"] else one["file"],
        )
        for one in found
    ]
    if not cells:
        return clean(tr("faces.observed.none"))
    names = ("id", "model", "gpu", "weights", "engine", "fits", "file")
    told = [at for at, name in enumerate(names) if name != "fits" or any(row[at] != "–" for row in cells)]
    few = [at for at in told if names[at] not in ("weights", "file")]
    return Fitting(_columns(names, cells, told), _columns(names, cells, few))


def _columns(names: tuple[str, ...], cells: Sequence[tuple[str, ...]], kept: list[int]) -> Grid:
    """Some of the columns as a table; the id and what is short never wrap."""
    header = [tr(f"faces.observed.head.{names[at]}") for at in kept]
    rows = [[row[at] for at in kept] for row in cells]
    return table(
        header, rows, whole=[at for at, column in enumerate(kept) if names[column] in ("id", "gpu", "engine")]
    )


def alike(found: list[dict[str, Any]]) -> list[RenderableType]:
    """Under the answer of ``fit``: what was seen of the same deployment."""
    blocks: list[RenderableType] = [
        clean(tr("faces.observed.alike", count=text.number(len(found), 4)), "bold")
    ]
    for one in found:
        about = " · ".join(part for part in (one["id"], one["source"], one["date"]) if part)
        blocks += [clean(about), clean(setup_line(one["setup"]))]
        blocks += [clean(how_it_ended(one))] if how_it_ended(one) else []
        blocks.append(figures(one["figures"]))
    return blocks


def whole(one: dict[str, Any]) -> RenderableType:
    """One observation with everything that is known of it."""
    blocks = _observation(one)
    about = tr("faces.observed.about", file=one["file"], format=one["format"], imported=one["imported"])
    blocks += [Text(), clean(about)]
    if one["mark"]:
        blocks.append(clean(f"{tr('faces.observed.mark.' + one['mark'])} {one['why']}".strip(), "bold"))
    if one["unknown_lines"]:
        blocks += [
            Text(),
            clean(tr("faces.observed.unknown", count=text.number(one["unknown_count"], 9)), "bold"),
        ]
        blocks += [clean(f"{line['line']}: {line['text'][:WORDS_SHOWN]}") for line in one["unknown_lines"]]
    return Group(*blocks)
