"""What a brief says that can't all be true. Each check is a small generator of problems."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import combinations
from pathlib import Path

from cabida import facts
from cabida.brief import evaluation, pictures, retrieval
from cabida.brief.accepted import unsound_risks
from cabida.brief.fields import STATISTICS
from cabida.brief.future import contrary
from cabida.brief.held import lacking, misplaced
from cabida.brief.jobs import Lengths
from cabida.brief.model import Brief
from cabida.brief.shapes import Walk
from cabida.brief.workload import contradictions as of_workload
from cabida.errors import Problem
from cabida.facts import hub
from cabida.facts.formats import find_format
from cabida.facts.known import names_only
from cabida.facts.models import find_model, nearest
from cabida.files import is_file
from cabida.text import closest, number, problem, tr

MOST_GUESSED = 20  # names that are wrong, to which the nearest is looked for
_ORDER = ("p50", "p95", "p99", "max")


Sellers = Callable[[], Iterable[str]]  # names of who sells beside the facts: of imported prices


def contradictions(brief: Brief, walk: Walk, as_of: str, sellers: Sellers) -> list[Problem]:
    """Everything in ``brief`` that contradicts something else, the calendar, or the facts."""
    checks = (
        _lengths,
        _rates,
        _profile,
        _objectives,
        _whole_and_part,
        _trace,
        _prefix,
        _dates,
        _have,
        _models,
        _names,
        _context,
        _budget,
        _power,
        _places,
        _batch,
        _own_rate,
        _tasks,
        _own_sections,
        _harness,
        _orders,
        _future,
        unsound_risks,
    )
    found = [item for check in checks for item in check(brief, as_of)] + list(_providers(brief, sellers))
    return [*found, *of_workload(brief), *_said_twice(brief, walk)]


def _problem(brief: Brief, code: str, path: str, **values: object) -> Problem:
    return problem(code, file=brief.file, line=brief.line(path), path=path, **values)


def _all_lengths(brief: Brief) -> Iterator[tuple[str, Lengths]]:
    training = brief.training
    named = (
        ("traffic.input_tokens", brief.traffic.input),
        ("traffic.output_tokens", brief.traffic.output),
        ("training.sample_tokens", training.sample_tokens if training else None),
    )
    return ((path, lengths) for path, lengths in named if lengths is not None)


def _lengths(brief: Brief, as_of: str) -> Iterator[Problem]:
    for path, lengths in _all_lengths(brief):
        said = {key: getattr(lengths, f"{key}_tokens") for key in lengths.said if key != "fixed"}
        pairs = combinations((key for key in _ORDER if key in said), 2)
        inverted = [(low, high) for low, high in pairs if said[low] > said[high]]
        for low, high in inverted[:1]:
            yield _problem(
                brief,
                "CB-B021",
                f"{path}.{low}",
                low=f"{said[low]:g}",
                high_name=high,
                high=f"{said[high]:g}",
                cure=_cure_for(said[low], said[high], high),
            )
        if not inverted and "mean" in said and "max" in said and said["mean"] > said["max"]:
            cure = _cure_for(said["mean"], said["max"], "max")
            values = {"low": f"{said['mean']:g}", "high_name": "max", "high": f"{said['max']:g}"}
            yield _problem(brief, "CB-B021", f"{path}.mean", cure=cure, **values)


def _cure_for(low: float, high: float, high_name: str) -> str:
    reason = tr(
        "brief.no_less_than_median" if high_name != "max" else "brief.no_more_than_max", name=high_name
    )
    ten_times = high * 10
    guess = tr("brief.did_you_mean", value=f"{ten_times:g}") if low <= ten_times <= low * 100 else ""
    return f"{reason}{guess or '.'}"


def _rates(brief: Brief, as_of: str) -> Iterator[Problem]:
    traffic = brief.traffic
    both = all(f"traffic.requests_per_s.{key}" in brief.where for key in ("mean", "peak"))
    mean, peak = traffic.requests_per_s_mean, traffic.requests_per_s_peak
    if both and mean is not None and peak is not None and peak < mean:
        path = "traffic.requests_per_s.peak"
        yield _problem(brief, "CB-B022", path, mean=number(mean), peak=number(peak))


def _profile(brief: Brief, as_of: str) -> Iterator[Problem]:
    for path in ("traffic.profile", "traffic.requests_per_s.profile"):
        count = sum(key.startswith(f"{path}[") for key in brief.where)
        if count and count not in (24, 168):
            yield _problem(brief, "CB-B027", path, count=count)


def _objectives(brief: Brief, as_of: str) -> Iterator[Problem]:
    for metric, said in brief.objectives.latency_s.items():
        order = [key for key in STATISTICS if key in said and key != "mean"]
        for low, high in combinations(order, 2):
            if said[low] > said[high]:
                path = f"objectives.{metric}_{low}"
                values = {
                    "low": number(said[low]),
                    "high_name": f"{metric}_{high}",
                    "high": number(said[high]),
                }
                yield _problem(brief, "CB-B025", path, **values)
                break


def _whole_and_part(brief: Brief, as_of: str) -> Iterator[Problem]:
    latency = brief.objectives.latency_s
    for statistic, whole in latency.get("e2e", {}).items():
        first = latency.get("ttft", {}).get(statistic)
        if first is not None and first > whole:
            values = {"low": number(first), "high_name": f"e2e_{statistic}", "high": number(whole)}
            yield _problem(brief, "CB-B019", f"objectives.ttft_{statistic}", **values)


def _trace(brief: Brief, as_of: str) -> Iterator[Problem]:
    trace = brief.traffic.trace
    if trace and names_only():
        yield _problem(brief, "CB-S040", "traffic.trace", trace=trace)
    elif trace and not is_file(Path(brief.file).parent / trace):
        folder = Path(brief.file).resolve().parent
        yield _problem(brief, "CB-B016", "traffic.trace", trace=trace, folder=folder)


def _prefix(brief: Brief, as_of: str) -> Iterator[Problem]:
    traffic = brief.traffic
    if traffic.input is not None and traffic.shared_prefix_tokens > traffic.input.max_tokens:
        path = "traffic.shared_prefix_tokens"
        longest = f"{traffic.input.max_tokens:.0f}"
        yield _problem(brief, "CB-B029", path, prefix=f"{traffic.shared_prefix_tokens:g}", longest=longest)


def _dates(brief: Brief, as_of: str) -> Iterator[Problem]:
    today = as_of or date.today().isoformat()
    if brief.limits.needed_by and brief.limits.needed_by < today:
        yield _problem(brief, "CB-B023", "limits.needed_by", date=brief.limits.needed_by, today=today)
    for index, held in enumerate(brief.have):
        if held.until and held.until < today:
            yield _problem(brief, "CB-B023", f"have[{index}].until", date=held.until, today=today)
        if held.bought and held.bought > today:
            yield _problem(brief, "CB-B064", f"have[{index}].bought", date=held.bought, today=today)


def _have(brief: Brief, as_of: str) -> Iterator[Problem]:
    for index, held in enumerate(brief.have):
        path = f"have[{index}]"
        for key, allowed in misplaced(held):
            yield _problem(brief, "CB-B031", f"{path}.{key}", key=key, kind=held.kind, allowed=allowed)
        for key in lacking(held, f"{path}.count" in brief.where):
            yield _problem(brief, "CB-B014", path, key=key)
        if held.kind != "owned" and {f"{path}.owned", f"{path}.kind"} <= brief.where.keys():
            yield _problem(brief, "CB-B031", f"{path}.owned", key="owned", kind=held.kind, allowed="owned")
        if held.kind in ("owned", "contracted") and not held.count:
            yield _problem(brief, "CB-B061", f"{path}.count")
    if brief.budget.financed_ratio and (brief.budget.interest_ratio is None or not brief.budget.loan_months):
        yield _problem(brief, "CB-B062", "budget.financed")


def _power(brief: Brief, as_of: str) -> Iterator[Problem]:
    costs = brief.costs
    meter = {"electricity": costs.electricity_money_per_kwh, "pue": costs.pue_ratio}
    said = [f"costs.{name}" for name, value in meter.items() if value is not None]
    if said and costs.colocation_money_per_kw_month is not None:
        yield _problem(brief, "CB-B063", "costs.colocation_per_kw", others=", ".join(said))


def _models(brief: Brief, as_of: str) -> Iterator[Problem]:
    if os.environ.get("CABIDA_ONLINE") == "1":
        return
    guesses = 0
    for index, choice in enumerate(brief.models):
        if hub.named(choice.id) or (brief.media and pictures.made_by(choice.id, brief.media.kind)):
            continue
        is_path = Path(choice.id).suffix in (".json", ".gguf", ".safetensors") or choice.id.startswith(
            (".", "/", "~")
        )
        there = not names_only() and Path(choice.id).expanduser().exists()
        if not there and (is_path or find_model(choice.id) is None):
            guesses += 1  # each takes a while: the first ones are enough
            near = "" if is_path or guesses > MOST_GUESSED else ", ".join(nearest(choice.id))
            cure = tr("brief.closest", near=near) if near else tr("brief.list_models")
            yield _problem(brief, "CB-B038", f"models[{index}].id", name=choice.id, cure=cure)


def _names(brief: Brief, as_of: str) -> Iterator[Problem]:
    wanted = [(f"have[{index}].accelerator", held.accelerator) for index, held in enumerate(brief.have)]
    wanted += [(f"consider.accelerators[{i}]", name) for i, name in enumerate(brief.consider.accelerators)]
    for path, name in wanted:
        if name and facts.find_accelerator(name) is None:
            yield _unknown_name(brief, "CB-B028", path, name, list(facts.accelerators()))
    for index, name in enumerate(brief.consider.engines):
        if name.lower() not in facts.engines():
            yield _unknown_name(brief, "CB-B032", f"consider.engines[{index}]", name, list(facts.engines()))
    for index, choice in enumerate(brief.models):
        for name in choice.weights:
            if find_format(name) is None:
                path = f"models[{index}].weights.{name}"
                yield _unknown_name(brief, "CB-B034", path, name, list(facts.formats()))


def _future(brief: Brief, as_of: str) -> Iterator[Problem]:
    future = brief.future
    if future is None:
        return
    traffic = brief.traffic
    longest = sum(one.p95_tokens for one in (traffic.input, traffic.output) if one is not None)
    today = as_of or date.today().isoformat()
    found = contrary(future, traffic.growth_per_year_ratio, longest, today, brief.horizon_months)
    for code, path, values in found:
        yield _problem(brief, code, path, **values)
    name = future.successor
    if name and not hub.named(name) and os.environ.get("CABIDA_ONLINE") != "1" and find_model(name) is None:
        near = ", ".join(nearest(name))
        cure = tr("brief.closest", near=near) if near else tr("brief.list_models")
        yield _problem(brief, "CB-B038", "future.successor", name=name, cure=cure)


def _providers(brief: Brief, sellers: Sellers) -> Iterator[Problem]:
    named = brief.consider.providers
    known = known_providers(named, sellers) if named else {}
    for index, name in enumerate(named):
        if name.lower() not in known:
            path = f"consider.providers[{index}]"
            yield _unknown_name(brief, "CB-B020", path, name, list(known.values()))


def known_providers(named: Iterable[str], sellers: Sellers) -> dict[str, str]:
    """Providers with an offer in the facts, and ``sellers`` where these have not all: lower-case name -> name."""
    names = [offer.provider for offer in facts.api_offers()] + [offer.provider for offer in facts.offers()]
    known = {name.lower(): name for name in names}
    if not {name.lower() for name in named} <= known.keys():
        known = {name.lower(): name for name in sellers()} | known
    return known


def _unknown_name(brief: Brief, code: str, path: str, name: str, known: list[str]) -> Problem:
    near = closest(name, known)
    cure = tr("brief.closest", near=near) if near else tr("brief.list_them")
    return _problem(brief, code, path, name=name, cure=cure)


def _context(brief: Brief, as_of: str) -> Iterator[Problem]:
    wanted: list[tuple[str, float]] = []
    traffic, training = brief.traffic, brief.training
    if traffic.input is not None and traffic.output is not None and not brief.is_training:
        wanted.append(("traffic.input_tokens", traffic.input.p95_tokens + traffic.output.p95_tokens))
    for index, task in enumerate(brief.evaluation.tasks if brief.evaluation else ()):
        tokens = task.shared_tokens + task.prompt_tokens + task.output_tokens
        wanted.append((f"evaluation.tasks[{index}].prompt_tokens", tokens))
    if training is not None and training.seq_tokens is not None:
        wanted.append(("training.seq_len", float(training.seq_tokens)))
    for choice in brief.models if wanted else ():
        model = find_model(choice.id)
        context = model.context_tokens if model else None
        for path, tokens in wanted:
            if context is not None and tokens > context:
                yield _problem(
                    brief, "CB-B033", path, tokens=f"{tokens:.0f}", model=choice.id, context=context
                )


def _budget(brief: Brief, as_of: str) -> Iterator[Problem]:
    monthly, total = brief.budget.monthly_money, brief.budget.total_money
    if monthly is not None and total is not None and monthly > total:
        values = {"monthly": f"{monthly:g}", "total": f"{total:g}"}
        yield _problem(brief, "CB-B035", "budget.monthly", **values)


def _places(brief: Brief, as_of: str) -> Iterator[Problem]:
    """Data that may not leave the house, with nothing in it and no leave to buy."""
    capacity = brief.consider.capacity
    if brief.limits.own_premises and not brief.have and capacity and "buy" not in capacity:
        at = brief.line("consider.capacity")
        yield _problem(brief, "CB-B042", "limits.data", at=at, capacity=", ".join(capacity))


def _batch(brief: Brief, as_of: str) -> Iterator[Problem]:
    """One step that holds more than the whole run."""
    training = brief.training
    if training is None or not training.global_batch_count or not training.samples_count:
        return
    whole = training.samples_count * (training.epochs_count or 1.0)
    if training.global_batch_count > max(1.0, whole):
        path, batch = "training.global_batch", training.global_batch_count
        yield _problem(brief, "CB-B043", path, batch=batch, whole=f"{whole:.0f}")


def _own_rate(brief: Brief, as_of: str) -> Iterator[Problem]:
    rate = brief.exchange_rates.get(brief.currency, 1.0)
    if rate != 1.0:
        path = f"exchange_rates.{brief.currency}"
        yield _problem(brief, "CB-B044", path, currency=brief.currency, rate=f"{rate:g}")


def _tasks(brief: Brief, as_of: str) -> Iterator[Problem]:
    """Models that write no tokens, in a brief that wants tokens written."""
    if brief.workload not in ("realtime-inference", "batch-inference", "retrieval", "evaluation"):
        return
    for index, choice in enumerate(brief.models):
        model = find_model(choice.id)
        if model is not None and model.task not in ("llm", "vlm"):
            path = f"models[{index}].id"
            yield _problem(brief, "CB-B045", path, name=choice.id, task=tr(f"brief.task.{model.task}"))


def _harness(brief: Brief, as_of: str) -> Iterator[Problem]:
    """Two tasks under one name: their minutes could not be told apart."""
    first: dict[str, int] = {}
    for index, task in enumerate(brief.evaluation.tasks if brief.evaluation else ()):
        before = first.setdefault(task.name, index)
        if before != index:
            one, other = f"evaluation.tasks[{before}].name", f"evaluation.tasks[{index}].name"
            yield _problem(brief, "CB-B036", other, one=one, other=other, at=brief.line(one))


def _orders(brief: Brief, as_of: str) -> Iterator[Problem]:
    """Time from an order to its asset, of assets that wait for a batch run."""
    limits = brief.objectives.latency_s.get("e2e")
    if brief.media is not None and brief.traffic.window_s is not None and limits:
        path = f"objectives.e2e_{next(iter(limits))}"
        yield _problem(brief, "CB-B053", path, at=brief.line("traffic.window"))


def _own_sections(brief: Brief, as_of: str) -> Iterator[Problem]:
    """What a corpus or a harness says that can't be."""
    found = [*retrieval.faults(brief.retrieval)] if brief.retrieval else []
    found += [*evaluation.faults(brief.evaluation)] if brief.evaluation else []
    names = [choice.id for choice in brief.models]
    found += [*pictures.faults(brief.media, names)] if brief.media else []
    for code, path, values in found:
        yield _problem(brief, code, path, **values)


def _said_twice(brief: Brief, walk: Walk) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, choice in enumerate(brief.models):
        before = first.setdefault(choice.id, index)
        if before != index:
            at, pair = brief.line(f"models[{before}].id"), (f"models[{before}]", f"models[{index}]")
            yield _problem(brief, "CB-B036", f"{pair[1]}.id", one=pair[0], other=pair[1], at=at)
    for one, other in (
        ("traffic.requests_per_s", "traffic.requests_per_day"),
        ("traffic.requests_per_s.profile", "traffic.profile"),
    ):
        if one in walk.where and other in walk.where:
            yield _problem(brief, "CB-B036", other, one=one, other=other, at=brief.line(one))
