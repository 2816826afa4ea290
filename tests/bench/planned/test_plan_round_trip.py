"""What is written is what is read: for any plan, in both languages, and for text that YAML would take otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cabida.bench.planned import parse_plan, plan_yaml
from cabida.bench.planned.metrics import KNOWN
from cabida.brief.shapes import UNKNOWN_WORDS
from cabida.evidence.secrets import redacted
from cabida.plan.bench import (
    APIS,
    BenchPlan,
    Contender,
    Drill,
    Expected,
    Job,
    Load,
    Policy,
    Prompts,
    Rule,
    Run,
    Spread,
    Target,
    Turn,
)


def harmless(text: str) -> bool:
    return (
        text == text.strip() and text.lower() not in UNKNOWN_WORDS and redacted(f"x: {text}") == f"x: {text}"
    )


PRINTED = st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Cf"), max_codepoint=0x2FFF)
NAMES = st.text(PRINTED, min_size=1, max_size=20).filter(harmless).filter(str.strip)
ANY_TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30).filter(
    lambda text: redacted(f"x: {text}") == f"x: {text}"
)
NUMBERS = st.floats(1e-6, 1e9, allow_nan=False, allow_infinity=False)
SECONDS = st.floats(1e-4, 1e6)
TOKENS = st.one_of(st.integers(1, 100_000).map(float), st.floats(1, 1e5))
MONEY = st.one_of(st.none(), st.floats(1e-6, 1e7))
FREE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), NUMBERS, ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
COMMANDS = st.lists(ANY_TEXT, min_size=1, max_size=4).map(tuple)
LOADS = st.one_of(
    st.builds(
        Load,
        kind=st.just("closed"),
        concurrency=st.integers(1, 5000),
        duration_s=SECONDS,
        requests_count=st.one_of(st.none(), st.integers(1, 10**9)),
        warm_up_s=st.one_of(st.none(), SECONDS),
        seed=st.integers(0, 10**9),
    ),
    st.builds(
        Load,
        kind=st.sampled_from(["poisson", "gamma"]),
        requests_per_s=st.floats(1e-5, 1e6),
        burst_ratio=st.floats(0.1, 100),
        requests_count=st.integers(1, 10**9),
    ),
    st.builds(
        Load,
        kind=st.just("steps"),
        steps=st.lists(st.tuples(st.floats(1e-3, 1e5), SECONDS), min_size=1, max_size=4).map(tuple),
    ),
    st.builds(
        Load,
        kind=st.just("profile"),
        requests_per_s=st.floats(1e-3, 1e3),
        profile=st.just(tuple(2.0 if hour % 2 else 0.0 for hour in range(24))),
        duration_s=SECONDS,
    ),
    st.builds(Load, kind=st.just("trace"), trace=NAMES, speed_ratio=st.floats(0.01, 100)),
)
DRILLS = st.one_of(
    st.builds(
        Drill,
        kind=st.just("kill"),
        name=st.one_of(st.just(""), NAMES),
        pid_file=NAMES,
        signal=st.sampled_from(["KILL", "TERM", "STOP"]),
        within_s=SECONDS,
    ),
    st.builds(Drill, kind=st.just("drain"), command=COMMANDS, undo=COMMANDS, lasts_s=SECONDS),
    st.builds(
        Drill,
        kind=st.just("slow-network"),
        delay_s=SECONDS,
        jitter_s=SECONDS,
        bytes_per_s=st.floats(1, 1e12),
        lasts_s=SECONDS,
    ),
    st.builds(Drill, kind=st.just("cut-network"), cut_after_bytes=st.integers(1, 10**12), lasts_s=SECONDS),
)


@st.composite
def expectations(draw: st.DrawFn) -> Expected:
    low, value, high = sorted(draw(st.lists(NUMBERS, min_size=3, max_size=3)))
    return Expected(draw(st.sampled_from(KNOWN)), value, low, high, draw(st.sampled_from(["", "simulated"])))


@st.composite
def plans(draw: st.DrawFn) -> BenchPlan:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    contenders = tuple(
        Contender(
            name,
            Target(
                "http://127.0.0.1:8000/v1",
                draw(st.one_of(st.just(""), NAMES)),
                draw(st.sampled_from(APIS)),
                draw(st.booleans()),
                draw(st.sampled_from(["", "env:MY_KEY", "keyring:bench/me@home"])),
                {"x-team": draw(NAMES)} if draw(st.booleans()) else {},
                draw(st.dictionaries(NAMES, FREE, max_size=3)),
            ),
            option=draw(st.one_of(st.just(""), NAMES)),
            title=draw(st.one_of(st.just(""), NAMES)),
            setup=draw(st.dictionaries(NAMES, FREE, max_size=3)),
            replicas_count=draw(st.integers(1, 100)),
            price_money_per_hour=draw(MONEY),
            launch=draw(ANY_TEXT),
        )
        for name in names
    )
    runs = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        drills = tuple(draw(st.lists(DRILLS, max_size=2)))
        runs.append(
            Run(
                name,
                "drill" if drills else draw(st.sampled_from(["load", "search", "memory"])),
                draw(st.sampled_from(names)),
                draw(LOADS),
                drills,
                duration_s=draw(st.one_of(st.none(), SECONDS)),
                cost_money=draw(MONEY),
                worth_money=draw(MONEY),
                expected=tuple(draw(st.lists(expectations(), max_size=2))),
                decides=tuple(
                    draw(
                        st.lists(
                            st.builds(
                                Turn,
                                st.sampled_from(KNOWN),
                                st.sampled_from(["below", "above"]),
                                NUMBERS,
                                NAMES,
                            ),
                            max_size=2,
                        )
                    )
                ),
                why=draw(st.one_of(st.just(""), NAMES)),
            )
        )
    return BenchPlan(
        draw(NAMES),
        contenders,
        tuple(runs),
        Prompts(
            input=Spread(draw(TOKENS), draw(st.floats(0.01, 3)), draw(st.one_of(st.none(), TOKENS))),
            output=Spread(draw(TOKENS)),
            prefixes_count=draw(st.integers(1, 50)),
            exact_output=draw(st.booleans()),
        ),
        rules=tuple(
            draw(
                st.lists(
                    st.builds(Rule, st.just("regex"), ANY_TEXT, st.one_of(st.just(""), NAMES)), max_size=2
                )
            )
        ),
        policy=Policy(
            retries_count=draw(st.integers(0, 9)),
            backoff_s=draw(SECONDS),
            total_s=draw(SECONDS),
            requests_per_s_most=draw(st.one_of(st.none(), st.floats(1e-3, 1e6))),
            requests_most=draw(st.one_of(st.none(), st.integers(1, 10**9))),
            response_bytes_most=draw(st.integers(1, 10**12)),
        ),
        objectives={"ttft": {"p95": draw(SECONDS)}, "e2e": {"mean": draw(SECONDS), "p99": draw(SECONDS)}},
        error_ratio_most=draw(st.one_of(st.none(), st.floats(1e-6, 1.0))),
        decision=draw(st.one_of(st.just(""), NAMES)),
        currency=draw(st.sampled_from(["USD", "EUR", "MXN"])),
        keep_samples=draw(st.sampled_from(["redacted", "full", "none"])),
        seed=draw(st.integers(0, 10**9)),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.sampled_from(["en", "es"]))
def test_any_plan_reads_back_as_it_was(plan: BenchPlan, language: str) -> None:
    text = plan_yaml(plan, language)
    back = parse_plan(text)
    assert replace(back, where={}, file="") == plan


@pytest.mark.parametrize(
    "text",
    ["unknown.txt", "1e5", "null", "~", "yes", "012", "0x1f", "2026-11-30", "a: b", "- a", "# not a comment",
     "'", '"', "\\", "a\tb", " both ends ", "\n", "line\nbreak", "${HOME}", "&anchor", "*alias", "!tag", "{a", "[b",
     "ñandú", "日本", "\u200b", "\ufeff"],
)  # fmt: skip
def test_words_that_yaml_would_take_otherwise_stay_words(text: str) -> None:
    target = Target("http://127.0.0.1:8000/v1", body={"stop": [text], text.strip() or "k": text})
    job = Job((text, "-x"), {"tokens_s": text})
    plan = BenchPlan(
        "p", (Contender("c", target, setup={"args": text}),), (Run("r", "training", "c", job=job),),
        rules=(Rule("regex", text),),
    )  # fmt: skip
    back = parse_plan(plan_yaml(plan))
    assert replace(back, where={}, file="") == plan


def test_kinds_of_free_values_are_kept() -> None:
    body = {
        "a": True,
        "b": "true",
        "c": None,
        "d": "null",
        "e": 1,
        "f": "1",
        "g": 1.5,
        "h": "1.5",
        "i": [{}, [], ""],
    }
    plan = BenchPlan(
        "p", (Contender("c", Target("http://127.0.0.1:8000/v1", body=body)),),
        (Run("r", "load", "c", Load(concurrency=1, duration_s=60.0)),),
    )  # fmt: skip
    assert parse_plan(plan_yaml(plan)).contenders[0].target.body == body


def test_times_and_sizes_are_written_as_people_say_them() -> None:
    plan = BenchPlan(
        "p", (Contender("c", Target("http://127.0.0.1:8000/v1")),),
        (Run("r", "load", "c", Load("poisson", requests_per_s=2.5, duration_s=2400.0)),),
        objectives={"ttft": {"p95": 350 * 1e-3}}, error_ratio_most=0.01,
    )  # fmt: skip
    text = plan_yaml(plan, "en")
    for said in (
        "duration: 40 min",
        "ttft_p95: 350 ms",
        "error_rate: 1 %",
        "response_size: 64 MiB",
        "requests_per_s: 2.5",
    ):
        assert said in text
