"""Properties: a brief written out and read again is the same; whatever is typed, only InvalidInput comes out."""

import re
from dataclasses import asdict, replace
from datetime import date
from math import exp, log

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida.brief import lengths, profiles
from cabida.brief.fields import BRIEF, EVERY
from cabida.brief.model import WORKLOADS
from cabida.brief.read import parse_brief
from cabida.brief.render import render
from cabida.errors import InvalidInput

AS_OF = "2026-11-30"
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

share = st.floats(0, 1).map(lambda x: round(x, 6))
kept = st.floats(0.01, 1).map(lambda x: round(x, 6))
lost = st.floats(0, 0.99).map(lambda x: round(x, 6))
amount = st.floats(0.01, 1e7).map(lambda x: round(x, 3))
tokens = st.floats(1, 4e3).map(lambda x: round(x, 3))
money = st.tuples(amount, st.sampled_from(["EUR", "USD", "MXN"]))
day = st.dates(min_value=date(2027, 1, 1)).map(str)
duration = st.tuples(st.floats(0.001, 1e4), st.sampled_from(["ms", "s", "min", "h", "days"])).map(
    lambda pair: f"{pair[0]:.5f} {pair[1]}"
)


def some(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def euros(period=""):
    return amount.map(lambda value: f"{value:.4f} EUR{period}")


said_lengths = st.one_of(
    tokens,
    st.tuples(tokens, st.floats(1, 8)).map(lambda pair: {"p50": pair[0], "p95": f"{pair[0] * pair[1]:.4f}"}),
    st.tuples(tokens, st.floats(1, 3)).map(lambda pair: {"mean": pair[0], "p95": f"{pair[0] * pair[1]:.4f}"}),
).map(
    lambda said: (
        f"{said:.4f}"
        if isinstance(said, float)
        else {key: str(value) + "0000" for key, value in said.items()}
    )
)


def shut_in(said):
    """Data that stays at home, where nothing stands and nothing may be bought: refused, rightly (CB-B042)."""
    at_home = said.get("limits", {}).get("data") == "own-premises"
    return at_home and not said.get("have") and "consider" in said and "capacity" in said["consider"]


said_brief = some(
    name=st.from_regex(r"\A[a-z][a-z0-9-]{0,20}\Z"),
    models=st.lists(
        st.fixed_dictionaries(
            {
                "id": st.sampled_from(["meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.1-8B"]),
                "weights": st.dictionaries(
                    st.sampled_from(["bf16", "fp8", "awq-int4"]),
                    some(acceptance=kept, how=st.just("measured")),
                ),
            }
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda model: model["id"],
    ),
    traffic=some(
        requests_per_s=st.tuples(amount, st.floats(1, 9)).map(
            lambda pair: {"mean": f"{pair[0]:.4f}", "peak": f"{pair[0] * pair[1] + 0.1:.4f}"}
        ),
        concurrency=st.integers(1, 4000),
        profile=st.one_of(
            st.sampled_from(["office-hours Europe/Madrid", "evening", "flat"]),
            st.lists(st.integers(0, 9), min_size=24, max_size=24),
        ),
        items=st.integers(1, 10**9),
        window=duration,
        every=st.sampled_from(list(EVERY)),
        input_tokens=said_lengths,
        output_tokens=said_lengths,
        burst=st.floats(0, 9).map(lambda x: round(x, 3)),
        growth=st.floats(-0.9, 5).map(lambda x: round(x, 4)),
    ),
    objectives=some(ttft_p95=duration, itl_p95=duration, e2e_p99=duration, error_rate=share),
    acceptance=some(retries=st.integers(0, 5), failure_rate=lost),
    have=st.lists(
        st.fixed_dictionaries(
            {"accelerator": st.sampled_from(["l40s", "h100-sxm-80", "rtx4090"]), "count": st.integers(1, 64)},
            optional={"resale": euros(), "kind": st.just("owned")},
        ),
        max_size=3,
    ),
    limits=some(
        data=st.one_of(
            st.sampled_from(["EU", "any", "own-premises"]), st.lists(st.sampled_from(["ES", "MX"]))
        ),
        needed_by=day,
        availability=st.sampled_from(["none", "n+1"]),
        risk=st.sampled_from(["low", "medium", "high"]),
        power=st.integers(1, 900).map(lambda kw: f"{kw} kW"),
    ),
    budget=st.one_of(some(monthly=euros("/month")), some(total=euros())),
    horizon=st.integers(1, 60).map(lambda months: f"{months} months"),
    team=some(platform_engineers=st.floats(0, 9).map(lambda x: round(x, 2)), loaded_cost=euros("/year")),
    costs=some(
        electricity=euros("/kWh"), pue=st.floats(1, 3).map(lambda x: round(x, 2)), wacc=share, storage=euros()
    ),
    consider=some(
        capacity=st.lists(st.sampled_from(["on-demand", "spot", "api"]), unique=True, min_size=1),
        engines=st.just(["vllm"]),
        max_accelerators=st.integers(1, 512),
    ),
    notes=st.text(
        st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["C"]), max_size=40
    ).filter(
        lambda text: (
            text.strip() == text and text.lower() not in ("", "unknown", "?", "~", "null", "desconocido")
        )
    ),
).filter(lambda said: not shut_in(said))


def bare(brief):
    return asdict(replace(brief, where={}, text="", file="", unknown=(), assumed=()))


def nearly(one, other):
    """Equal but for the last bits of floats (a profile is normalised twice)."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(nearly(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(nearly, one, other))
    return one == other or (isinstance(one, float) and one == pytest.approx(other, rel=1e-12))


def faults(text):
    """What is wrong with ``text``; anything but InvalidInput is a failure of the test."""
    try:
        parse_brief(text, as_of=AS_OF)
    except InvalidInput as refused:
        return refused.problems
    return ()


@few
@given(said_brief)
def test_what_is_written_out_reads_the_same(said):
    import yaml

    first = parse_brief(yaml.safe_dump(said, allow_unicode=True), as_of=AS_OF)
    again = parse_brief(render(first), as_of=AS_OF)
    assert nearly(bare(first), bare(again))


@few
@given(st.text(max_size=300))
def test_any_text_at_all_is_refused_or_read(text):
    assert all(found.code.startswith("CB-B") for found in faults(text))


KEYS = sorted(
    {key for shape in BRIEF.fields.values() if shape.mapping for key in getattr(shape.mapping, "fields", {})}
)
junk = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(
            [*WORKLOADS, "unknown", "any", "3 h", "4 EUR", "12 %", "1e400", "80 GiB", "vllm", "l40s", "²"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*KEYS, "id", "mean", "p50", "p95"]), inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(list(BRIEF.fields)), junk, max_size=8))
def test_the_right_keys_with_anything_under_them(said):
    import yaml

    text = yaml.safe_dump(said, allow_unicode=True)
    lines = len(re.split("\r\n|[\n\r\x85\u2028\u2029]", text))  # as YAML counts them
    assert all(0 < found.line <= lines for found in faults(text))


@few
@given(st.floats(1, 1e5), st.floats(0, 2.0))
def test_a_log_normal_is_found_again_from_its_figures(median, spread):
    figures = {
        "p50": median,
        "mean": median * exp(spread**2 / 2),
        "p95": median * exp(lengths.Z95 * spread),
        "p99": median * exp(lengths.Z99 * spread),
    }
    for pair in (("p50", "p95"), ("p50", "p99"), ("p50", "mean"), ("p95", "p99")):
        found = lengths.fit({key: figures[key] for key in pair})
        assert found.spread_ratio == pytest.approx(spread, abs=1e-5)
        assert log(found.mean_tokens) == pytest.approx(log(figures["mean"]), abs=1e-4)
    if spread <= lengths.Z95:
        found = lengths.fit({"mean": figures["mean"], "p95": figures["p95"]})
        assert found.spread_ratio == pytest.approx(spread, abs=1e-4)


@few
@given(st.dictionaries(st.sampled_from(["mean", "p50", "p95", "p99", "max"]), st.floats(0, 1e6)))
def test_lengths_never_break(said):
    found = lengths.fit(said)
    if found is not None:
        assert found.spread_ratio >= 0
        assert all(value >= 0 for value in (found.mean_tokens, found.p50_tokens, found.max_tokens))


def test_a_fitted_percentile_stays_below_the_maximum_that_was_said():
    found = lengths.fit({"p50": 900, "p95": 3500, "max": 4000})
    assert found.p99_tokens == found.max_tokens == 4000
    assert lengths.fit({"mean": 100, "p95": 1e4}).spread_ratio == lengths.Z95  # beyond any log-normal


@few
@given(st.lists(st.floats(0, 1e6), min_size=24, max_size=24))
def test_profiles_have_a_mean_of_one(weights):
    found = profiles.normalised(weights)
    assert sum(found) / len(found) == pytest.approx(1)


@pytest.mark.parametrize("name", sorted(profiles.NAMED))
def test_named_profiles(name):
    assert len(profiles.named(name)) in (24, 168)
    assert profiles.peak_over_mean(profiles.named(name)) >= 1
