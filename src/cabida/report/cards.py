"""The catalogue as pages show it: every accelerator with its price, one model's figures, who runs what on a card."""

from __future__ import annotations

from typing import Any

from cabida import facts, memory
from cabida.checks.software import Stack, judge
from cabida.errors import CabidaError
from cabida.evidence import book
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory.engines import rules_for
from cabida.memory.kv import sequence_bytes
from cabida.memory.lens import PLAIN
from cabida.memory.pages import shape_of
from cabida.memory.weights import Split, weights_on_accelerator
from cabida.report.catalogue import said
from cabida.report.compare import row_of
from cabida.report.software_matrix import SHOWN_FORMATS

WEIGHTS = ("bf16", "fp8", "int8-w8a8", "nvfp4", "awq-int4", "q8_0", "q6_k", "q5_k_m", "q4_k_m")
CACHES = ("bf16", "fp8")
CONTEXTS = (8192, 32_768, 131_072)  # tokens
RENTED = ("on-demand",)
WRITERS = ("llm", "vlm")


def gpu_cards(as_of: str | None = None, *, store: Any = None) -> list[dict[str, Any]]:
    """Every accelerator as :func:`cabida.report.compare.row_of` has it, with vendor, segment and the span of its rent.

    Args:
        as_of: ISO date; accelerators and prices seen later don't exist.
        store: file of the store or its address.
    """
    found = list(facts.accelerators(as_of).values())
    offers: dict[str, list[Any]] = {one.id: [] for one in found}
    for offer in book.offers(as_of, list(offers), once=True, store=store):
        offers[offer.accelerator].append(offer)
    return [_gpu_card(one, tuple(offers[one.id]), as_of) for one in found]


def _gpu_card(one: Accelerator, offers: tuple[Any, ...], as_of: str | None) -> dict[str, Any]:
    from cabida.money import offers_for, terms

    held = offers_for(one, 1, offers, terms(as_of=as_of or ""), capacity=RENTED) if offers else []
    asked = [tenure.money_per_hour for tenure in held if not tenure.discount]
    return {
        **row_of(one, as_of),
        "vendor": one.vendor,
        "segment": one.segment,
        "form_factor": one.form_factor,
        "memory_kind": one.memory_kind,
        "confidence": one.confidence,
        "rent_low_usd_per_hour": min(asked, default=None),
        "rent_high_usd_per_hour": max(asked, default=None),
    }


def engines_on(gpu: str) -> list[dict[str, str]]:
    """The engines that run something on an accelerator, a cell for each usual format.

    A cell is native, weight-only, steps (runs, with something to do or to know) or no.
    """
    card, cache = facts.accelerator(gpu), facts.weight_format("bf16")
    rows = []
    for engine in facts.engines().values():
        if engine.kind != "serve" or not engine.versions:
            continue
        cells = {
            name: _cell(Stack(engine, engine.versions[-1], card, facts.weight_format(name), cache))
            for name in SHOWN_FORMATS
        }
        if any(cell != "no" for cell in cells.values()):
            rows.append({"engine": engine.id, "name": engine.name, **cells})
    return rows


def _cell(stack: Stack) -> str:
    verdict = judge(stack)
    if verdict.rule.startswith("weight_only"):
        return "weight-only"
    return {"runs": "native"}.get(verdict.state, verdict.state)


def model_card(id: str) -> dict[str, Any]:
    """One model: its parameters, its layers, what its cache takes for each token, its weights by format.

    Args:
        id: of the catalogue.

    Returns:
        ``params_count`` and ``active_params_count`` (worked out where nobody states them: ``params_worked_out``),
        ``attention`` and ``mlp`` (a row for each group of layers), ``caches`` (bytes by kind of cache), ``weights``
        (bytes by format), ``sources``.

    Raises:
        InvalidInput: CB-F014, there is no such model.
    """
    one = facts.model(id)
    writes = one.task in WRITERS
    counts = memory.params(one) if writes else None
    stated, active = one.params_count, one.active_params_count
    return {
        "id": one.id,
        "aliases": list(one.aliases),
        "task": one.task,
        "architecture": one.architecture,
        "licence": one.licence,
        "context_tokens": one.context_tokens,
        "native_format": one.native_format,
        "layers_count": one.layers_count,
        "hidden_dim_count": one.hidden_dim_count,
        "vocab_count": one.vocab_count,
        "is_moe": one.is_moe,
        "params_count": stated or (float(counts.total_count) if counts else None),
        "active_params_count": active or (float(counts.active_count) if counts else None),
        "params_worked_out": not stated and counts is not None,
        "attention": [_shown(group, _ATTENTION) for group in one.attention],
        "mlp": [_shown(group, _MLP) for group in one.mlp],
        "caches": [made for name in CACHES if (made := _cache(one, name)) is not None] if writes else [],
        "weights": _weights(one) if writes or one.attention else [],
        "sources": {"": said(one.source)}
        | {name: said(source) for name, source in one.field_sources.items()},
    }


_ATTENTION = (
    *("kind", "layers_count", "heads_count", "kv_heads_count", "head_dim_count", "window_tokens"),
    *("latent_dim_count", "state_elements_count"),
)
_MLP = (
    *("layers_count", "intermediate_dim_count", "experts_count", "experts_per_token_count"),
    "shared_intermediate_dim_count",
)


def _shown(group: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(group, name) for name in names}


def _cache(one: Model, name: str) -> dict[str, Any] | None:
    """What one sequence keeps under vLLM's rules on one accelerator; ``None`` of what keeps nothing."""
    try:
        shape = shape_of(one, facts.weight_format(name), rules_for("vllm", "", one), 1, 1, 0.0, PLAIN)
    except (CabidaError, ZeroDivisionError):
        return None
    growing, windowed, state = (
        float(value) for value in (shape.kv_bytes_per_token, shape.window_bytes_per_token, shape.state_bytes)
    )
    if not (growing or windowed or state):
        return None
    most = one.context_tokens or CONTEXTS[-1]
    return {
        "format": name,
        "bytes_per_token": growing,
        "window_bytes_per_token": windowed,
        "window_tokens": shape.window_tokens,
        "state_bytes": state,
        "contexts": [
            {
                "tokens": tokens,
                "bytes": float(
                    sequence_bytes.raw(
                        tokens, shape.block_tokens, growing, windowed, shape.window_tokens, state
                    )
                ),
            }
            for tokens in CONTEXTS
            if tokens <= most
        ],
    }


def _weights(one: Model) -> list[dict[str, Any]]:
    """Bytes of all weights by format, the published one first, the others from wide to narrow."""
    native = facts.weight_format(one.native_format) if one.native_format else None
    held = [native] if native else []
    held += [fmt for name in WEIGHTS if (fmt := facts.weight_format(name)).id not in {h.id for h in held}]
    rows: list[dict[str, Any]] = [
        {"format": fmt.id, "bytes": size, "published": fmt is native}
        for fmt in held
        for size in _size(one, fmt)
    ]
    return rows[:1] + sorted(rows[1:], key=lambda row: -row["bytes"]) if native else rows


def _size(one: Model, held: WeightFormat) -> list[float]:
    try:
        return [float(weights_on_accelerator(one, held, Split()))]
    except (CabidaError, ZeroDivisionError):
        return []


def gpu_figures(id: str) -> list[dict[str, Any]]:
    """The figures of an accelerator, each with where it was read, when and how sure that is.

    Returns:
        Rows with ``field`` (``flop_per_s.fp8`` of a table's entry), ``value`` as the facts have it, ``what``, ``url``,
        ``seen`` and ``grade``; what nobody saw has no row.

    Raises:
        InvalidInput: CB-F001, there is no such accelerator.
    """
    one = facts.accelerator(id)
    rows = []
    for name in FIGURES:
        value = getattr(one, name)
        entries = (
            {f"{name}.{key}": part for key, part in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        for field, part in entries.items():
            if part in (None, ""):
                continue
            source = one.source_of(field)
            rows.append(
                {
                    "field": field,
                    "value": part,
                    "what": source.what,
                    "url": source.url,
                    "seen": source.seen,
                    "grade": source.grade,
                }
            )
    return rows


FIGURES = (
    *("vendor", "architecture", "capability", "form_factor", "year", "label_memory_bytes", "usable_bytes"),
    *("memory_kind", "memory_bytes_per_s", "flop_per_s", "matmul_ratio", "l2_bytes", "tdp_w", "pcie_gen"),
    *("pcie_lanes", "link_kind", "link_bytes_per_s", "link_domain_count", "ecc", "mig_instances_count"),
    *("price_money", "physical"),
)
