"""What the pictures show is what the decision says."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_sample import GIB, decision

from cabida import report
from cabida.plan import CostLine
from cabida.plan.decision import Flexibility
from cabida.report import bills_chart, charts, flexibility_chart, svg, trade


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


def test_frontier_joins_what_the_decision_says_nothing_beats():
    made = decision()
    options = [replace(one, on_front=one.rank in (1, 2)) for one in made.options]
    chart = trade.frontier(replace(made, options=tuple(options)))
    points = re.search(r'class="stairs" d="M([^"]+)"', chart.svg).group(1).split(" L")
    xs = [float(point.split(",")[0]) for point in points]
    assert len(xs) == 2
    assert list(xs) == sorted(xs)
    assert [row[3] for row in chart.rows][:3] == ["on the front", "on the front", "–"]
    assert 'class="stairs"' not in trade.frontier(made).svg
    assert trade.frontier(replace(made, options=made.options[:1])) is None


def test_cost_is_held_against_the_time_that_the_brief_asks_for():
    made = decision()
    assert trade.traded(made)[0] == "ttft_ms_p95"
    slow = [replace(one, metrics={"output_tok_s": one.metrics["ttft_ms_p95"]}) for one in made.options[:2]]
    assert trade.traded(replace(made, options=tuple(slow)))[0] == "output_tok_s"


def test_each_bill_is_drawn_with_its_small_lines_put_together():
    lines = tuple(CostLine(f"line_{at}", 10.0 + at) for at in range(11))
    one = replace(decision().options[0], cost_lines=lines, cost_per_month_money=sum(x.money for x in lines))
    made = replace(decision(), options=(one, replace(one, rank=2, id="b")))
    chart = bills_chart.bills(made)
    assert sorted(set(bills_chart.parts(made).values())) == ["", *sorted(f"line_{at}" for at in range(4, 11))]
    drawn = sum(width for at in range(1, 9) for _, width in bars(chart, f"fill-{at}") if width != 11.0)
    assert drawn == pytest.approx(2 * svg.WIDTH, abs=2.0)
    assert [len(row) for row in chart.rows] == [13, 13]
    assert bills_chart.bills(replace(made, options=(one,))) is None


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


def test_freedom_is_drawn_as_the_share_of_futures():
    made = decision()
    shares = (1.0, 0.25, None)
    told = [
        replace(one, flexibility=Flexibility(score_ratio=share))
        for one, share in zip(made.options[:3], shares, strict=True)
    ]
    chart = flexibility_chart.flexibility(replace(made, options=tuple(told)))
    assert [width for _, width in bars(chart, "total")] == [svg.WIDTH, svg.WIDTH / 4]
    assert [len(row) for row in chart.rows] == [len(chart.header)] * 2
    assert flexibility_chart.flexibility(made) is None
