"""From a known load through a log to a brief and back: what is sent, what is told and what is replayed agree."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from cabida import traffic
from cabida.bench.load.arrivals import arrivals, trace_lengths
from cabida.brief import parse_brief
from cabida.plan.bench import Load

MONDAY = 1_795_996_800.0  # 2026-11-30T00:00:00Z
EVENING = (35, 22, 14, 10, 8, 8, 12, 20, 30, 38, 44, 50, 56, 56, 54, 54, 58, 66, 78, 90, 100, 98, 80, 55)


def logged(path, moments, seed=1):
    random = np.random.default_rng(seed)
    moments = list(moments)
    asked = random.lognormal(np.log(700), 0.8, len(moments)).round().clip(1)
    answered = random.lognormal(np.log(150), 0.5, len(moments)).round().clip(1)
    rows = [
        {"timestamp": datetime.fromtimestamp(MONDAY + at, UTC).isoformat(), "model": "m", "status": 200,
         "usage": {"prompt_tokens": int(a), "completion_tokens": int(b)}, "duration_s": 2.5}
        for at, a, b in zip(moments, asked, answered, strict=True)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("burst", [1.0, 3.0])
def test_a_week_that_a_benchmark_would_send_becomes_the_brief_it_is_from(tmp_path, burst):
    week = tuple(one * (0.4 if day >= 5 else 1.0) for day in range(7) for one in EVENING)
    load = Load(kind="profile", requests_per_s=0.2, burst_ratio=burst, profile=week, seed=3)
    log = logged(tmp_path / "log", arrivals(load))
    answer = traffic([log])
    brief = parse_brief(f"models: [Qwen/Qwen2.5-7B-Instruct]\n{answer['traffic'][0]['yaml']}")
    mean = 0.2 * np.mean(week) / max(week)
    assert brief.traffic.requests_per_s_mean == pytest.approx(mean, rel=0.05)
    assert brief.traffic.requests_per_s_peak > 0.2
    assert brief.traffic.burst_ratio == pytest.approx(burst, rel=0.12)
    assert len(brief.traffic.profile) == 168
    days = np.array(brief.traffic.profile).reshape(7, 24)
    assert days[5:].mean() / days[:5].mean() == pytest.approx(0.4, rel=0.1)
    assert (days[:5].mean(axis=0) / days[:5].mean()) == pytest.approx(
        np.array(EVENING) / np.mean(EVENING), rel=0.2, abs=0.06
    )
    assert brief.traffic.input.spread_ratio == pytest.approx(0.8, rel=0.1)
    assert brief.traffic.output.p50_tokens == pytest.approx(150, rel=0.05)
    assert answer["traffic"][0]["concurrency"]["mean"] == pytest.approx(mean * 2.5, rel=0.05)


def test_a_trace_is_replayed_as_it_came(tmp_path):
    moments = list(arrivals(Load(kind="gamma", requests_per_s=2.0, burst_ratio=4.0, duration_s=7200.0)))
    log, out = logged(tmp_path / "log", moments), tmp_path / "trace.csv"
    [one] = traffic([log], trace=out)["traffic"]
    load = Load(kind="trace", trace=str(out))
    assert list(arrivals(load)) == pytest.approx([at - moments[0] for at in moments], abs=1e-5)
    assert one["burst"]["ratio"] == pytest.approx(4.0, rel=0.1)
    assert np.mean([asked for asked, _ in trace_lengths(load)]) == pytest.approx(one["input_tokens"]["mean"])
