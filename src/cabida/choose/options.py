"""From worked candidates to the options a decision shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cabida.choose.both import Rented
from cabida.choose.splits import describe, describe_run, engine_name
from cabida.choose.worked import Speed, Worked
from cabida.memory import MediaMemory, ServingMemory, TrainingMemory
from cabida.plan import Estimate, Option, Replica
from cabida.plan.decision import LATENCIES, STATISTICS
from cabida.text import has_text, number, tr
from cabida.timing import ServingSpeed, TrainingSpeed
from cabida.timing.intervals import factors as interval_factors
from cabida.units import BYTES_PER_GIB, MS_PER_S

OPTIONS_SHOWN = 12  # unless all were asked for


def chosen_few(worked: Sequence[Worked], most: int = OPTIONS_SHOWN) -> list[Worked]:
    """The best, then the best of each other kind: another way to hold it, another accelerator, an API, what is held.

    Of candidates that differ only in provider the cheapest stands for all.
    """
    ordered = sorted(worked, key=lambda one: (*one.order, one.candidate.id))
    kept: list[Worked] = []
    seen: set[tuple[object, ...]] = set()
    for one in ordered:
        key = kind_of(one)
        if key not in seen:
            seen.add(key)
            kept.append(one)
    must = [
        next((one for one in kept if _family(one) == name), None) for name in ("api", "have", "buy", "spot")
    ]
    alone = next((one for one in kept if _family(one) == "have" and not one.cost.line("rented")), None)
    must += [alone] if alone is not None and all(one is not alone for one in must) else []
    firsts = kept[: most - sum(one is not None and one not in kept[:most] for one in must)]
    return sorted(
        [*firsts, *(one for one in must if one is not None and one not in firsts)],
        key=lambda one: (*one.order, one.candidate.id),
    )


def _family(one: Worked) -> str:
    return "api" if one.candidate.api else one.tenure.capacity if one.tenure else ""


def kind_of(one: Worked) -> tuple[object, ...]:
    """What an option is, whoever sells it: how it is held, model, accelerator, and whether it satisfies."""
    if one.candidate.api:
        return ("api", one.candidate.api.model, one.status)
    thing = one.candidate.thing
    return _family(one), model_of(one), thing.accelerator.id if thing else "", one.status


def format_of(one: Worked) -> str:
    """Weight format an option serves or trains in; ``api`` when it is somebody else's."""
    if one.candidate.api:
        return "api"
    if one.candidate.deployment:
        return one.candidate.deployment.weights.id
    return one.candidate.run.precision if one.candidate.run else ""


def model_of(one: Worked) -> str:
    """Model id of an option."""
    if one.candidate.api:
        return one.candidate.api.model
    return one.candidate.thing.model.id if one.candidate.thing else ""


def accelerators_of(one: Worked) -> int:
    """Accelerators an option holds, spares and whole machines included, what is rented beside it too."""
    return (one.tenure.accelerators_count if one.tenure else 0) + rented_beside(one)[2]


def rented_beside(one: Worked) -> tuple[int, int, int]:
    """Replicas, spares and accelerators rented beside what is held."""
    if not isinstance(one.beside, Rented):
        return 0, 0, 0
    rented = one.beside
    spares = rented.candidate.spare_replicas_count
    return rented.candidate.replicas_count, spares, rented.tenure.accelerators_count


def several_models(worked: Sequence[Worked]) -> bool:
    """Whether options differ in their model too, so that a title must name it."""
    return len({model_of(one) for one in worked}) > 1


def title_of(one: Worked, *, named: bool = False) -> str:
    """One line for people: what, how many, how split, held how, from whom; ``named`` = with its model."""
    title = _own_title(one, named=named)
    return f"{title} + {one.beside.title}" if one.beside is not None and one.beside.title else title


def _own_title(one: Worked, *, named: bool) -> str:
    if one.candidate.api:
        return tr("choose.title.api", provider=one.candidate.api.provider, model=one.candidate.api.model_name)
    tenure = one.tenure
    held = tr(f"choose.capacity.{tenure.capacity}") if tenure else ""
    if tenure and tenure.held:
        kept = number(tenure.held.accelerators_count, 15)
        held = tr("choose.capacity.topped_up", held=kept, more=number(tenure.bought_count, 15))
    if tenure and tenure.committed_months:
        held = tr("choose.title.term", held=held, months=int(tenure.committed_months))
    provider = _in_words("choose.provider", tenure.offer.provider) if tenure else ""
    place = _in_words("choose.region", tenure.offer.region or tenure.offer.country) if tenure else ""
    whom = ", ".join(
        part for part in (held, f"{provider} ({place})" if provider and place else provider) if part
    )
    model = model_of(one).rpartition("/")[2] if named else ""
    if one.candidate.deployment:
        each = one.candidate.deployment
        replicas = one.candidate.replicas_count + one.candidate.spare_replicas_count
        count = f"{each.parallel.accelerators_count}×{each.accelerator.name}"
        said = number(replicas, 15)  # every digit
        many = tr("choose.title.replicas", replicas=said, each=count) if replicas > 1 else count
        words = [many, model, each.weights.id, engine_name(each), whom]
    else:
        run = one.candidate.run
        words = (
            [
                f"{run.accelerators_count}×{run.accelerator.name}",
                model,
                describe_run(run),
                f"{run.method} {run.precision}" if run.method in ("lora", "qlora") else run.precision,
                whom,
            ]
            if run
            else []
        )
    return " · ".join(word for word in words if word)


def _in_words(texts: str, name: str) -> str:
    """What price lists call a provider or region that is none: in words (``Global (lowest)``: any region)."""
    key = f"{texts}.{name}"
    return tr(key) if has_text(key) else name


def option_of(one: Worked, rank: int, status: str, command: str = "", *, named: bool = False) -> Option:
    """The option as the decision keeps it; doubt and trees are added later."""
    deployment, run, tenure, api = one.candidate.deployment, one.candidate.run, one.tenure, one.candidate.api
    thing = one.candidate.thing
    cost = one.cost
    more = rented_beside(one)
    offer = tenure.offer if tenure else None
    return Option(
        rank=rank,
        id=one.candidate.id,
        title=title_of(one, named=named),
        status=status,
        reasons=one.reasons,
        accelerator=thing.accelerator.id if thing else "",
        accelerators_count=accelerators_of(one),
        replicas_count=one.candidate.replicas_count + more[0] if deployment else 1,
        spare_replicas_count=one.candidate.spare_replicas_count + more[1],
        split=describe(deployment.parallel) if deployment else describe_run(run) if run else "",
        weights=format_of(one),
        kv_cache=deployment.kv_cache.id if deployment else "",
        engine=deployment.engine if deployment else (run.framework if run else ""),
        engine_version=deployment.engine_version if deployment else (run.framework_version if run else ""),
        model=model_of(one),
        provider=api.provider if api else offer.provider if offer else "",
        capacity=_family(one),
        region=offer.region or offer.country if offer else "",
        price_seen=api.seen if api else offer.seen if offer else "",
        metrics=metrics_of(one),
        memory=_memory(one),
        usable_bytes=one.room.usable_bytes if one.room else 0.0,
        latency_quantiles=_quantiles(one.speed),
        cost_lines=cost.lines,
        cost_per_month_money=cost.per_month_money,
        unit_cost=Estimate(cost.per_accepted_money, cost.per_accepted_low, cost.per_accepted_high, "derived"),
        best_probability=0.0,
        expected_regret_money=0.0,
        command=command,
        replica=replica_of(one),
    )


def replica_of(one: Worked) -> Replica | None:
    """What a benchmark sets up: one replica with its share of the peak, or the whole of a training run."""
    if one.candidate.thing is None or one.tenure is None:
        return None
    deployment = one.candidate.deployment
    count = deployment.parallel.accelerators_count if deployment else one.tenure.accelerators_count
    return Replica(
        accelerators_count=count,
        requests_per_s=one.load.requests_per_s or 0.0 if one.load else 0.0,
        capacity_requests_per_s=one.capacity_requests_per_s,
        money_per_hour=one.tenure.money_per_hour * count,
    )


def metrics_of(one: Worked) -> dict[str, Estimate]:
    """Predicted figures under the names of the measured cases, each with its 90 % interval."""
    return _own_metrics(one) | (dict(one.beside.metrics()) if one.beside is not None else {})


def _own_metrics(one: Worked) -> dict[str, Estimate]:
    if isinstance(one.speed, ServingSpeed):
        return _serving_metrics(one, one.speed)
    if isinstance(one.speed, TrainingSpeed):
        return _training_metrics(one, one.speed)
    return {}


def _estimate(value: float, factors: tuple[float, float], basis: str) -> Estimate:
    return Estimate(value, value * factors[0], value * factors[1], basis)


def _serving_metrics(one: Worked, speed: ServingSpeed) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for metric in LATENCIES:
        values = getattr(speed, f"{metric}_s")
        if not values.p99:  # answers of one token have no gaps
            continue
        for statistic in STATISTICS:
            value = getattr(values, statistic) * float(MS_PER_S)
            ends = interval_factors(speed.spread, f"{metric}_s", statistic)
            found[f"{metric}_ms_{statistic}"] = _estimate(value, ends, speed.basis)
    slow, fast = capacity_factors(speed.spread)
    replicas = one.candidate.replicas_count
    found["output_tok_s"] = _estimate(speed.output_tokens_per_s * replicas, (1.0, 1.0), speed.basis)
    found["req_s"] = _estimate(one.capacity_requests_per_s * replicas, (slow, fast), speed.basis)
    if isinstance(one.room, ServingMemory):
        found["kv_cache_tokens"] = _estimate(one.room.kv_pool_tokens, (0.9, 1.1), "formula")
        found["kv_use_ratio"] = _estimate(speed.kv_use_ratio, (1.0, 1.0), speed.basis)
    return found


def _training_metrics(one: Worked, speed: TrainingSpeed) -> dict[str, Estimate]:
    spread, basis = speed.spread, speed.basis
    none = (1.0, 1.0)
    rate = spread.get("tokens_per_s_per_accelerator", none)
    found = {
        "tokens_s_per_gpu": _estimate(speed.tokens_per_s_per_accelerator, rate, basis),
        "step_time_s": _estimate(speed.step_s, spread.get("step_s", none), basis),
        "minutes_to_target": _estimate(one.wall_s / 60, spread.get("time_to_target_s", none), basis),
        "mfu_ratio": _estimate(speed.mfu_ratio, spread.get("mfu_ratio", rate), basis),
        "goodput_ratio": _estimate(speed.goodput_ratio, none, "formula"),
    }
    if isinstance(one.room, TrainingMemory):
        found["peak_mem_gib"] = _estimate(one.room.peak_bytes / float(BYTES_PER_GIB), (0.85, 1.15), "formula")
    return found


def capacity_factors(spread: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Interval factors of the rate a replica sustains: the wider of its rate's and its pace's."""
    slow, fast = _inverse(spread.get("tpot_s", (1.0, 1.0)))
    low, high = spread.get("requests_per_s", (slow, fast))
    return min(low, slow), max(high, fast)


def _inverse(factors: tuple[float, float]) -> tuple[float, float]:
    return 1 / factors[1], 1 / factors[0]


def _memory(one: Worked) -> dict[str, float]:
    """What fills one accelerator, what the engine or the driver leaves alone (``reserve``), and what is to spare.

    Of a pool of KV cache what counts is what the planned load fills, and at least one longest request.
    """
    room = one.room
    if room is None:
        return {}
    if isinstance(room, MediaMemory):
        return _media_memory(room)
    parts = {name: value for name, value in room.parts.items() if value > 0}
    spare = room.headroom_bytes
    if isinstance(room, ServingMemory) and room.cache_is_pool:
        parts["kv_cache"] = cache_in_use_bytes(one, room)
        spare = room.kv_pool_bytes - parts["kv_cache"]
    reserve = room.usable_bytes - sum(parts.values()) - spare
    return parts | ({"reserve": reserve} if reserve > 0 else {}) | {"headroom": spare}


def cache_in_use_bytes(one: Worked, room: ServingMemory) -> float:
    """KV cache that the planned load fills on the mean, and at least one longest request."""
    use = one.speed.kv_use_ratio if isinstance(one.speed, ServingSpeed) else 0.0
    return max(room.required_kv_bytes, use * max(0.0, room.kv_pool_bytes))


def _media_memory(room: MediaMemory) -> dict[str, float]:
    """Weights of all components there at the peak together; what the driver and the allocator keep is "other"."""
    beside = ("activations", "gathered", "peers", "graphs")
    weights = sum(size for name, size in room.parts.items() if name not in beside)
    alive = room.parts.get("activations", 0.0)
    other = room.needed_bytes - weights - alive
    return {"weights": weights, "activations": alive, "other": other, "headroom": room.headroom_bytes}


def _quantiles(speed: Speed | None) -> dict[str, tuple[float, ...]]:
    if not isinstance(speed, ServingSpeed):
        return {}
    return {
        f"{metric}_ms": tuple(v * float(MS_PER_S) for v in getattr(speed, f"{metric}_s").quantiles)
        for metric in LATENCIES
        if getattr(speed, f"{metric}_s").p99
    }
