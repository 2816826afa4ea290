"""What the pictures show is what the decision says."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_sample import GIB, decision

from cabida import report
from cabida.plan import CostLine
from cabida.report import charts, svg, trade


def bars(chart, css):
    found = re.findall(rf'<rect class="{css}" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart.svg)
    return [(float(x), float(width)) for x, width in found]


def test_memory_segments_touch_and_scale_with_bytes():
    one = replace(
        decision().options[0], memory={"weights": 30 * GIB, "kv_cache": 15 * GIB}, usable_bytes=60 * GIB
    )
    chart = charts.memory(replace(decision(), options=(one,)))
    weights, cache = bars(chart, "fill-1")[-1], bars(chart, "fill-2")[-1]
    assert weights == (0.0, pytest.approx(svg.WIDTH / 2, abs=0.2))
    assert cache == (pytest.approx(svg.WIDTH / 2, abs=0.2), pytest.approx(svg.WIDTH / 4, abs=0.2))
    assert "15 GiB free" in chart.svg


def test_memory_beyond_the_limit_is_said():
    chart = charts.memory(decision())
    assert "0.7 GiB short" in chart.svg
    assert chart.rows[-1][-1] == "0.7 GiB short"


def test_latency_shows_the_objective_at_its_place():
    chart = charts.latency(decision())
    assert "objective TTFT p95 800 ms" in chart.svg
    assert chart.header[1:] == ("p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
    assert charts.latency(replace(decision(), options=decision().options[3:])) is None


def test_waterfall_ends_at_the_total():
    chart = charts.waterfall(decision())
    steps, (left, width) = bars(chart, "cost"), bars(chart, "total")[0]
    assert steps[0][0] == pytest.approx(left)
    assert sum(width for _, width in steps) == pytest.approx(width, abs=3.0)
    assert chart.rows[-1][1] == "14,900.00"


def test_waterfall_goes_back_for_a_credit():
    one = replace(decision().options[0], cost_lines=(CostLine("compute", 100.0), CostLine("residual", -40.0)))
    chart = charts.waterfall(replace(decision(), options=(one,)))
    (credit,) = bars(chart, "credit")
    (total,) = bars(chart, "total")
    assert credit[0] == pytest.approx(total[0] + total[1], abs=0.2)


def test_frontier_climbs_and_leaves_out_what_does_not_satisfy():
    chart = trade.frontier(decision())
    points = re.search(r'class="stairs" d="M([^"]+)"', chart.svg).group(1).split(" L")
    xs, ys = zip(*((float(a), float(b)) for a, b in (point.split(",") for point in points)), strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys, reverse=True)
    assert len(points) == 3  # two options that satisfy, and the corner between them
    assert trade.frontier(replace(decision(), options=decision().options[:1])) is None


def test_tornado_puts_the_fragile_first_and_the_immovable_last():
    chart = trade.tornado(decision())
    assert [row[0] for row in chart.rows] == ["acceptance", "price", "traffic", "output length"]
    assert "no change in the range tried" in chart.svg


@given(st.floats(0, 1e12), st.floats(1e-6, 1e6))
def test_ticks_are_even_few_and_inside(low, relative):
    width = max(low, 1e-3) * relative
    high = low + width
    found = svg.ticks(low, high)
    assert len(found) <= 7
    assert all(low - width * 1e-6 <= one <= high + width * 1e-6 for one in found)


def test_the_bill_adds_up_to_the_cent_in_markdown_and_in_the_page():
    made = decision()
    rows = charts.waterfall(made).rows
    cents = [round(float(row[1].replace(",", "")) * 100) for row in rows]
    assert sum(cents[:-1]) == cents[-1] == round(made.options[0].cost_per_month_money * 100)
    told = report.render(made, "md")
    for name, amount, *_ in rows:
        assert f"| {name} | {amount} |" in told
