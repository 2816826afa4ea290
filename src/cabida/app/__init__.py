"""The use cases. Each reads like the flow; the arithmetic is in the rooms below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.app.api_prices import api_prices
from cabida.app.arriving import traffic
from cabida.app.asking import ask
from cabida.app.auditing import quote_annex, quote_audit, quote_compare, quote_letter
from cabida.app.bench_exports import bench_export
from cabida.app.bench_money import bench_normalised
from cabida.app.bench_runs import bench_report, bench_run, bench_selftest, bench_write
from cabida.app.benching import bench_plan
from cabida.app.costs import cost, energy
from cabida.app.holding import hold, hours_of
from cabida.app.importing import import_prices
from cabida.app.launching import launch_files
from cabida.app.measured import calibrate, calibration, observations, observe, validate
from cabida.app.mixing import mix
from cabida.app.owning import own
from cabida.app.price_book import exchange_rates, price, price_history, prices, prices_aside
from cabida.app.quoting import quote_add, quote_offer, quote_read, quote_template, quotes
from cabida.app.recording import explain, levers, record, what_if
from cabida.app.rerunning import diff, rerun
from cabida.app.shelving import briefs, decisions, keep_answer, keep_brief, keep_decision
from cabida.app.storing import store_backup, store_export, store_import, store_restore
from cabida.app.tracking import track
from cabida.errors import InvalidInput, Problem
from cabida.facts.known import as_known
from cabida.plan import Caution, Decision, Progress, Setup
from cabida.report.catalogue import fact, facts_check, facts_list, models
from cabida.text import use_language

if TYPE_CHECKING:
    from cabida.brief import Brief, Missing
    from cabida.evidence.machine import Roots


def init(
    workload: str = "realtime-inference", *, language: str = "en", from_example: str = "", **answers: str
) -> str:
    """A commented brief for one class of workload, or an example as it is."""
    from cabida.brief import template

    return template(workload, language, from_example, answers)


def check(path: Path | str, *, assume: bool = False, as_of: str = "") -> list[Missing | Problem | Caution]:
    """What a brief leaves open, what it claims wrongly, and the classic mistakes it makes.

    Raises:
        InvalidInput: it has faults, or lacks something that the decision waits for.
    """
    from cabida.brief import claims, complete, not_yet
    from cabida.checks import brief_pitfalls, weighed

    brief = load_brief(path, as_of=as_of)
    if (refusal := not_yet(brief)) is not None:
        raise InvalidInput([refusal])
    whole = complete(brief, assume=assume, as_of=as_of)
    day = as_of or date.today().isoformat()
    found = weighed(brief_pitfalls(whole, day), brief.accepted_risks, whole=False)
    return [*whole.assumed, *claims(brief), *found]


def load_brief(path: Path | str, *, as_of: str = "") -> Brief:
    """A brief from its file, or by its id from the shelf; every fault at once."""
    from cabida.brief import parse_brief, read_brief
    from cabida.evidence import book
    from cabida.evidence.shelf.named import brief_named

    if (kept := brief_named(path)) is not None:
        return parse_brief(kept, file=str(path), as_of=as_of, sellers=book.sellers)
    return read_brief(path, as_of=as_of, sellers=book.sellers)


def load_decision(path: Path | str) -> Decision:
    """A decision from its JSON file, or by its id from the shelf."""
    from cabida.report.store import load

    return load(path)


def recommend(
    brief: Path | str,
    *,
    assume: bool = False,
    as_of: str | None = None,
    language: str = "",
    seed: int = 0,
    out: Path | str | None = None,
    progress: Progress | None = None,
    all: bool = False,
    scenarios: int = 0,
    on: str = "here",
) -> Decision:
    """The main job: a ranked, explained, dated decision, with its records in ``out`` when a folder is given.

    Args:
        brief: the YAML file, or the id of a kept brief.
        assume: go on with graded defaults where the brief leaves something open.
        as_of: ISO date; facts and prices seen later don't exist. Today when left out.
        language: of the sentences; the one in use when left out.
        seed: of every draw and simulation.
        out: folder for the record as HTML, Markdown, JSON and a workbook.
        progress: told what is being done.
        all: keep every option worked out.
        scenarios: futures drawn to try the cheapest mix on; 0 = the mix at the planned growth alone.
        on: where those are worked out: here, or ray. The answer is the same.

    Raises:
        InvalidInput: the brief has faults, is of a class not served yet, or lacks what the decision waits for.
    """
    from cabida.app.deciding import decided
    from cabida.report import write

    if language:
        use_language(language)
    day = as_of or date.today().isoformat()
    flags = {"assume": assume, "all": all, "scenarios": scenarios}
    with as_known(day):
        read = load_brief(brief, as_of=day)
        decision = decided(read, day, flags, seed=seed, progress=progress, on=on)
    if out is not None:
        write(decision, out)
    return decision


def fit(
    model: str | None = None,
    *,
    gpu: str | Sequence[str] | None = None,
    as_of: str | None = None,
    concurrency: int | None = None,
    min_context: int | None = None,
    **flags: Any,
) -> dict[str, Any]:
    """Does it fit? With a model and an accelerator one answer; without either, one row for each there is.

    Args:
        model: id, alias or path; ``None`` = every model of the catalogue.
        gpu: accelerator id or name; several are answered each for itself; ``None`` = every accelerator.
        as_of: leaves out accelerators that came later.
        concurrency: requests the memory must hold at once.
        min_context: tokens each must be able to grow to.
        flags: those of :class:`Setup`; ``method`` asks about training. Those of ``report.beyond_fits.Beyond`` ask about
            images, clips, embedders and vector indexes.
    """
    from cabida.report.beyond_fits import beyond_fit, parted
    from cabida.report.fits import fits

    gpus = [gpu] if isinstance(gpu, str) else list(gpu or ())
    own, flags = parted(flags)
    setup = Setup(model=model, **flags)
    asked = {"concurrency": concurrency, "min_context": min_context}
    found = beyond_fit(setup, own, gpus, as_of, [name for name, value in asked.items() if value is not None])
    return found if found is not None else fits(setup, gpus, as_of, concurrency, min_context)


def here(model: str | None = None, *, roots: Roots | None = None, **flags: Any) -> dict[str, Any]:
    """This machine's cards, who uses them, and what fits on them as they are now.

    Args:
        model: id, alias or path; ``None`` = the largest models of the catalogue that fit.
        roots: where to look; this machine when left out.
        flags: those of :class:`Setup`.
    """
    from cabida.report.here import here as found

    return found(Setup(model=model, **flags), roots)


def speed(
    model: str,
    *,
    gpu: str,
    trace: Path | str | None = None,
    seed: int = 0,
    objectives_ms: Mapping[str, float] | None = None,
    demand: float | None = None,
    profile: Sequence[float] | None = None,
    headroom: float = 0.0,
    spares: int = 0,
    replicas: int = 1,
    routing: str = "",
    prefill_replicas: int = 0,
    acceptance: float | None = None,
    items: int | None = None,
    within_s: float | None = None,
    start_s: float = 0.0,
    knee: bool = False,
    step: bool = False,
    **flags: Any,
) -> dict[str, Any]:
    """How fast is it? Latencies and rates of one replica under a load, what it sustains, how many a demand takes.

    Args:
        model: id, alias or path.
        gpu: accelerator.
        trace: CSV ``arrival_s,input_tokens,output_tokens``, in place of lengths and a rate.
        seed: of the simulations.
        objectives_ms: most of each latency, by ``ttft_ms_p95`` ...; the highest rate that keeps them all is searched.
        demand: requests/s of the busiest hour, all replicas together.
        profile: 24 or 168 hourly weights of that demand, or of ``requests_per_s``, which is then the mean.
        headroom: share of capacity that stays free.
        spares: replicas beyond need.
        replicas: that share the load.
        routing: how they share it: round-robin, random, least-loaded, prefix-aware, two-choices; "" = the engine's way.
        prefill_replicas: that read prompts for the ``replicas``, which then only write answers.
        acceptance: chance that a drafted token is accepted (``draft``, ``draft_tokens``).
        items: requests queued all at once.
        within_s: time to answer them all.
        start_s: until a replica answers its first.
        knee: also latency against rate.
        step: also where the time of a step goes.
        flags: those of :class:`Setup`, and the load's: ``input_tokens``, ``output_tokens``, ``concurrency``,
            ``requests_per_s``, ``input_spread_ratio``, ``output_spread_ratio``, ``burst_ratio``, ``prompts_count``,
            ``shared_prefix_tokens``, ``prefixes_count``, ``cached_ratio``, ``turns_count``, ``turn_gap_s``,
            ``adapters_count``, ``ramp_s``, ``harness``. With ``method`` a training run is asked about; of a pipeline,
            an embedder or a speech model, an image, a batch or an hour of audio: ``width``, ``steps`` ...
    """
    from cabida.report.encoder_speed import encoder_speed_answer, is_encoder
    from cabida.report.run_speed import beyond_serving, run_speed_answer, serving_flags
    from cabida.report.speed import Wants, speed_answer
    from cabida.report.speed_asked import profiled

    own = {
        "headroom": headroom, "spares": spares, "items": items, "knee": knee, "step": step, "demand": demand,
        "profile": profile, "routing": routing, "acceptance": acceptance, "replicas": replicas,
        "prefill_replicas": prefill_replicas, "within_s": within_s, "start_s": start_s, "trace": trace,
    }  # fmt: skip
    whole = {**flags, **own, **(objectives_ms or {})}
    if is_encoder(model):
        return encoder_speed_answer(model, gpu, whole)
    if (about := beyond_serving(model, flags)) is not None:
        return run_speed_answer(about, gpu, whole)
    wants = Wants(
        objectives_ms or {}, demand, tuple(profile or (1.0,)), headroom, spares, replicas, routing, prefill_replicas,
        acceptance, flags.get("draft") or "", items, within_s, start_s, knee, step,
    )  # fmt: skip
    if wants.draft == "ngram":  # looked up in the text itself: no model to hold
        del flags["draft"]
    return speed_answer(
        model, gpu, trace, seed, wants, serving_flags(flags | profiled(profile, demand, flags))
    )


def compare(ids: Sequence[str], as_of: str | None = None) -> dict[str, Any]:
    """Accelerators side by side: what they have, what they cost, what they are for and not for."""
    from cabida.report.compare import comparison

    return comparison(ids, as_of)


__all__ = [
    "Setup",
    "api_prices",
    "ask",
    "bench_export",
    "bench_normalised",
    "bench_plan",
    "bench_report",
    "bench_run",
    "bench_selftest",
    "bench_write",
    "briefs",
    "calibrate",
    "calibration",
    "check",
    "compare",
    "cost",
    "decisions",
    "diff",
    "energy",
    "exchange_rates",
    "explain",
    "fact",
    "facts_check",
    "facts_list",
    "fit",
    "here",
    "hold",
    "hours_of",
    "import_prices",
    "init",
    "keep_answer",
    "keep_brief",
    "keep_decision",
    "launch_files",
    "levers",
    "load_brief",
    "load_decision",
    "mix",
    "models",
    "observations",
    "observe",
    "own",
    "price",
    "price_history",
    "prices",
    "prices_aside",
    "quote_add",
    "quote_annex",
    "quote_audit",
    "quote_compare",
    "quote_letter",
    "quote_offer",
    "quote_read",
    "quote_template",
    "quotes",
    "recommend",
    "record",
    "rerun",
    "speed",
    "store_backup",
    "store_export",
    "store_import",
    "store_restore",
    "track",
    "traffic",
    "validate",
    "what_if",
]
