"""The user's own observations: what few of them are worth."""

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts, memory, timing
from cabida.plan import Deployment, Load, Parallel
from cabida.timing import own
from cabida.timing.own import (
    FIRST,
    NONE,
    PARTS,
    STEP,
    Residual,
    Setup,
    corrected_by,
    digest_of,
    solve,
    widths_of,
    with_own,
    without_own,
)
from cabida.timing.spread import spread_of

HERE = Setup("vllm", "h100-sxm-80", "meta-llama/Llama-3.1-8B")
LOAD = Load(1024, 128, concurrency=8)


def seen(setup: Setup, step: float, count: int = 1, first: float = 0.0) -> tuple[Residual, ...]:
    return tuple(Residual(f"o{n}", setup, ((FIRST, first), (STEP, step))) for n in range(count))


def deployment() -> Deployment:
    accelerator = facts.accelerator(HERE.card)
    bf16 = facts.weight_format("bf16")
    return Deployment(
        facts.model(HERE.model), accelerator, Parallel(), bf16, bf16, HERE.engine, "0.10.0",
        node=facts.node_for(accelerator),
    )  # fmt: skip


def test_nothing_seen_corrects_nothing():
    assert corrected_by((), HERE, STEP) == NONE


def test_one_observation_moves_part_of_the_way_and_many_nearly_all():
    one, many = (corrected_by(seen(HERE, 0.4, count), HERE, STEP) for count in (1, 30))
    assert 1 < one.ratio < many.ratio < math.exp(0.4)
    assert many.ratio > math.exp(0.36)
    assert one.doubt_ratio > many.doubt_ratio > 0


def test_the_weight_of_one_is_its_share_of_the_variance():
    widths = widths_of(STEP)
    prior = sum(widths[part] for part in PARTS)
    told = corrected_by(seen(HERE, 0.4), HERE, STEP)
    assert math.log(told.ratio) == pytest.approx(0.4 * prior / (prior + widths["rest"]))


def test_a_neighbour_gains_less_and_a_stranger_nothing():
    held = seen(HERE, 0.4, 3)
    other_model = corrected_by(held, Setup("vllm", HERE.card, "another"), STEP)
    stranger = corrected_by(held, Setup("sglang", HERE.card, HERE.model), STEP)
    assert 1 <= other_model.ratio < corrected_by(held, HERE, STEP).ratio
    assert stranger.ratio == pytest.approx(1.0)
    assert stranger.doubt_ratio == pytest.approx(1.0)


@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=8))
def test_a_correction_stays_within_what_was_seen(values):
    held = tuple(Residual(str(n), HERE, ((STEP, value),)) for n, value in enumerate(values))
    told = math.log(corrected_by(held, HERE, STEP).ratio)
    assert min(*values, 0.0) - 1e-9 <= told <= max(*values, 0.0) + 1e-9


def test_systems_are_solved():
    assert solve([[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]) == pytest.approx([1 / 11, 7 / 11])


def test_predictions_move_their_interval_narrows_and_they_say_measured():
    d = deployment()
    m = memory.serving(d)
    with without_own():
        shipped, doubt = timing.simulate(d, m, LOAD), spread_of(d, LOAD)
    with with_own(seen(HERE, 0.3, 6)):
        own, told = timing.simulate(d, m, LOAD), spread_of(d, LOAD)
    ratio = corrected_by(seen(HERE, 0.3, 6), HERE, STEP).ratio
    assert own.tpot_s.mean == pytest.approx(shipped.tpot_s.mean * ratio, rel=0.02)
    assert told["tpot_s"][1] / told["tpot_s"][0] < doubt["tpot_s"][1] / doubt["tpot_s"][0]
    assert (told.basis, told.own_count) == ("measured", 6)


def test_time_to_first_token_is_corrected_apart():
    d = deployment()
    m = memory.serving(d)
    with with_own(seen(HERE, 0.0, 8, first=0.5)):
        late = timing.simulate(d, m, LOAD)
    with without_own():
        shipped = timing.simulate(d, m, LOAD)
    assert late.ttft_s.mean > 1.2 * shipped.ttft_s.mean
    assert late.tpot_s.mean == pytest.approx(shipped.tpot_s.mean)
    assert timing.fluid(d, m, LOAD).ttft_s.mean > 0


def test_a_digest_tells_calibrations_apart():
    assert digest_of(()) == ""
    assert digest_of(seen(HERE, 0.1)) != digest_of(seen(HERE, 0.2))
    assert digest_of(seen(HERE, 0.1, 2)) == digest_of(seen(HERE, 0.1, 2)[::-1])


def test_thousands_of_runs_say_what_each_alone_would():
    """Means by setup lose nothing: the same as solving over all runs, at the cost of the setups."""

    there = Setup("vllm", HERE.card, "another")
    held = (*seen(HERE, 0.3, 3), *seen(there, -0.1, 2), *seen(Setup("sglang", "l4", "third"), 0.2, 4))
    widths = widths_of(STEP)
    alike = [[sum(widths[p] for p in PARTS if a.setup.shares(b.setup, p)) for b in held] for a in held]
    towards = [sum(widths[p] for p in PARTS if HERE.shares(one.setup, p)) for one in held]
    for place in range(len(held)):
        alike[place][place] += widths["rest"]
    weights = solve(alike, towards)
    mean = sum(w * dict(one.values)[STEP] for w, one in zip(weights, held, strict=True))
    told = corrected_by(held, HERE, STEP)
    assert math.log(told.ratio) == pytest.approx(mean, rel=1e-9)
    prior = sum(widths[part] for part in PARTS)
    left = prior - sum(w * k for w, k in zip(weights, towards, strict=True))
    assert told.known_ratio == pytest.approx(1 - left / prior, rel=1e-9)
    began = time.perf_counter()
    corrected_by(seen(HERE, 0.4, 20_000), HERE, STEP)
    assert time.perf_counter() - began < 2


def test_whatever_a_prediction_is_made_of_is_in_the_digest_of_coefficients(monkeypatch, tmp_path):
    """A refit of first tokens or links leaves residuals of others behind."""
    shipped = Path(own.__file__).parent / "data"
    copied = tmp_path / "data"
    copied.mkdir()
    for name in own.COEFFICIENTS:
        (copied / name).write_bytes((shipped / name).read_bytes())
    monkeypatch.setattr(own, "__file__", str(tmp_path / "own.py"))
    found = set()
    for name in ("", "serving.json", "kernels.json", "links.json", "first_tokens.json"):
        if name:
            (copied / name).write_bytes((copied / name).read_bytes() + b" ")
        found.add(own.coefficients_digest.__wrapped__())
    assert len(found) == 5
