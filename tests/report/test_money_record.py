"""Money and doubt in every form of the record: kept in git, drawn inside their frames, silent when absent.

CABIDA_UPDATE_GOLDEN=1 writes the kept files anew; look at the difference before you keep it.
"""

import io
import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from money_sample import money_decision
from report_sample import decision
from rich.console import Console
from test_report_golden import agree

from cabida import report
from cabida.faces import output, show
from cabida.plan.decision import QUANTILES
from cabida.report import curve_charts, doubt_charts, pdf
from cabida.report.charts import charts
from cabida.report.money_sections import in_short, money_sections
from cabida.report.scripts import without_bundled
from cabida.report.store import from_json
from cabida.report.svg import WIDTH
from cabida.text import speaking

DRAWN = {"intervals", "swings", "volume", "breakeven", "demand", "demand-mix", "ledger"}


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("form", ["md", "html"])
def test_record(form, language):
    agree(f"money.{language}.{form}", report.render(money_decision(language), form))


@pytest.mark.parametrize("language", ["en", "es"])
def test_terminal_takes_a_line_each(language):
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, no_color=True)
    console.print(show.decision(money_decision(language)))
    agree(f"money.{language}.txt", "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n")
    with speaking(language):
        made = money_decision(language)
        assert len(in_short(made, made.options)) <= 4


def test_a_decision_with_all_of_it_comes_back_from_its_json():
    made = money_decision()
    assert from_json(report.render(made, "json")) == made


def test_nothing_is_shown_of_what_is_absent():
    assert money_sections(decision()) == ()
    assert in_short(decision(), decision().options) == []
    assert not DRAWN & {one.key for one in charts(decision())}
    assert {one.key for one in charts(money_decision())} >= DRAWN


@pytest.mark.parametrize("language", ["en", "es"])
def test_pictures_stay_in_their_frames_and_their_words_apart(language):
    for chart in charts(money_decision(language)):
        height = float(re.search(r'viewBox="0 0 520 (\d+)"', chart.svg)[1])
        texts = re.findall(
            r'<text class="([^"]*)" x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)">([^<]*)<', chart.svg
        )
        boxes = []
        for css, x, y, anchor, said in texts:
            wide = (6.6 if "small" in css else 7.1) * len(said)
            left = float(x) - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            assert left >= -3, (chart.key, said)
            assert left + wide <= WIDTH + 12, (chart.key, said)
            assert 0 < float(y) <= height, (chart.key, said)
            boxes.append((left, left + wide, float(y), said))
        for at, (left, right, y, said) in enumerate(boxes):
            for other_left, other_right, other_y, other in boxes[:at]:
                apart = right <= other_left + 4 or other_right <= left + 4 or abs(y - other_y) >= 11
                assert apart, (chart.key, said, other)
        drawn = re.sub(r"<defs>.*?</defs>", "", chart.svg)
        for found in re.findall(r' d="M([^"]+)"', drawn):
            points = [tuple(map(float, one.split(","))) for one in re.findall(r"[-\d.]+,[-\d.]+", found)]
            assert all(-1 <= x <= WIDTH + 1 and -1 <= y <= height + 1 for x, y in points), chart.key


def test_a_tornados_bars_end_where_the_costs_do():
    made = money_decision()
    with speaking("en"):
        chart = doubt_charts.swings(made)
    bars = re.findall(r'<rect class="swing-(low|high)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart.svg)
    assert len(bars) == 2 * len(made.swings)
    widest = max(float(wide) for _, _, wide in bars)
    assert float(bars[0][2]) == pytest.approx(widest)  # the first driver's dear end reaches furthest
    shown = [
        abs(getattr(one, f"{end}_money") - one.base_money) for one in made.swings for end in ("low", "high")
    ]
    for (_, _, wide), money in zip(bars, shown, strict=True):
        assert float(wide) / widest == pytest.approx(money / max(shown), abs=0.01)
    assert chart.svg.count('class="target"') == 2  # one end of the speed, one of the price
    assert chart.rows[1][-1] == "the same – Option 2"


def test_intervals_put_half_of_the_draws_in_the_thick_part():
    made = money_decision()
    with speaking("en"):
        chart = doubt_charts.intervals(made)
        letters = doubt_charts.intervals_in_letters(made)
    halves = re.findall(r'<rect class="half" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart.svg)
    quantiles = made.options[0].unit_cost_quantiles
    low, high = (quantiles[QUANTILES.index(share)] for share in (0.25, 0.75))
    other = made.options[1].unit_cost_quantiles
    ratio = (other[QUANTILES.index(0.75)] - other[QUANTILES.index(0.25)]) / (high - low)
    assert float(halves[1][1]) / float(halves[0][1]) == pytest.approx(ratio, rel=0.02)
    assert len(letters) == 2
    assert all("●" in one for one in letters)


def test_owning_crosses_renting_where_the_record_says():
    made = money_decision()
    with speaking("en"):
        chart = curve_charts.break_even(made)
    owned = made.options[1].ownership
    limits = re.findall(r'<line class="limit" x1="([\d.]+)"', chart.svg)
    left, right = curve_charts.LEFT, WIDTH - 8
    uses = [(float(x) - left) / (right - left) for x in limits]
    assert uses == pytest.approx([one.break_even_utilisation_ratio for one in owned.rents], abs=0.001)
    paths = re.findall(r'<path class="line-1" d="M([^"]+)"', chart.svg)
    points = [tuple(map(float, one.split(","))) for one in paths[0].split(" L")]
    rents = [float(y) for y in re.findall(r'<path class="line-[23]" d="M[\d.]+,([\d.]+)', chart.svg)]
    crossing = float(limits[0])
    before = max(point for point in points if point[0] <= crossing)
    after = min(point for point in points if point[0] >= crossing)
    assert before[1] <= rents[0] + 2
    assert after[1] >= rents[0] - 2


def test_a_volume_curve_falls_and_is_drawn_on_two_logarithms():
    made = money_decision()
    with speaking("en"):
        chart = curve_charts.volume(made)
    path = re.search(r'<path class="line-1" d="M([^"]+)"', chart.svg)[1]
    points = [tuple(map(float, one.split(","))) for one in path.split(" L")]
    assert [y for _, y in points] == sorted(y for _, y in points)  # down the page: cheaper with volume
    steps = {round(b[0] - a[0], 1) for a, b in pairwise(points)}
    assert max(steps) - min(steps) < 0.3
    assert all(math.isfinite(y) for _, y in points)


def test_the_parts_of_the_mix_stand_on_each_other_up_to_the_demand():
    made = money_decision()
    with speaking("en"):
        chart = curve_charts.mix_demand(made)
    tops = [float(y) for y in re.findall(r'<path class="fill-\d" d="M[\d.]+,([\d.]+)', chart.svg)]
    asked = float(re.search(r'<path class="line-demand" d="M[\d.]+,([\d.]+)', chart.svg)[1])
    assert tops == sorted(tops)  # the tallest is drawn first
    assert tops[0] <= asked + 0.1  # all parts together reach the busiest hour
    assert tops[1] == pytest.approx(asked, abs=0.1)  # three replicas of 4 req/s each carry its 12
    assert curve_charts.mix_demand(replace(made, mix=None)) is None


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_page_with_everything_is_small(language):
    assert len(without_bundled(report.render(money_decision(language), "html"))) < 400_000


def shown_money(cell):
    return round(float(cell.replace(",", "")) * 100)


@pytest.mark.parametrize("tax", [0.0, 1234.567])
def test_shown_parts_of_owning_add_up_to_shown_totals(tax):
    made = money_decision()
    owned = next(one.ownership for one in made.options if one.ownership)
    thirds = {"energy": 10_000 / 3, "support": 20_000 / 3, "parts": 1_000.005}
    odd = replace(
        owned,
        running_lines=thirds,
        running_money_per_year=sum(thirds.values()),
        tax_money_per_year=tax,
    )
    options = tuple(replace(one, ownership=odd) if one.ownership else one for one in made.options)
    capital, year = next(
        one for one in money_sections(replace(made, options=options)) if one.key == "ownership"
    ).tables
    *parts, (_, total) = capital.rows
    assert sum(shown_money(cell) for _, cell in parts) == shown_money(total)
    for column in (1, 2):
        *parts, total = (row[column] for row in year.rows)
        assert sum(shown_money(cell) for cell in parts if cell != "–") == shown_money(total)
    running = sum(thirds.values())
    assert shown_money(year.rows[-1][1]) == round((odd.annuity_money_per_year + running + tax) * 100)
    assert shown_money(year.rows[-1][2]) == round((odd.straight_line_money_per_year + running) * 100)


def test_shown_lines_of_a_month_add_up_to_its_cash():
    table = next(one for one in money_sections(money_decision()) if one.key == "ledger").tables[0]
    for row in table.rows:
        *lines, cash, _, _ = (shown_money(cell) for cell in row[2:])
        assert sum(lines) == cash


def test_a_command_is_shown_in_whole_lines_to_be_copied(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    made = money_decision()
    long = "python - <<'END'\nprint('" + "a" * 90 + "')\nEND"
    told = replace(made, options=(replace(made.options[0], command=long), *made.options[1:]))
    output.console().print(show.decision(told), crop=False)
    assert long in capsys.readouterr().out


def test_the_demand_of_a_quiet_mix_is_in_one_unit():
    made = money_decision()
    quiet = tuple(replace(one, requests_per_s=one.requests_per_s / 1e4) for one in made.mix.levels)
    chart = curve_charts.mix_demand(replace(made, mix=replace(made.mix, levels=quiet)))
    assert {row[0].partition(" ")[2] for row in chart.rows} == {"req/s"}


def test_a_picture_on_paper_has_every_fill_it_names():
    for one in charts(money_decision("en")):
        alone = pdf._chart(one)["svg"]
        named = set(re.findall(r"url\(#(fill-\d)\)", re.sub(r"<style>.*?</style>", "", alone)))
        worn = set(re.findall(r'class="(fill-\d)"', alone))
        assert named | worn <= set(re.findall(r'<pattern id="(fill-\d)"', alone)), one.key


def test_long_names_of_a_legend_take_rows():
    made = money_decision("en")
    long = "1×GH200 (96 GB HBM3) · Llama-3.3-70B-Instruct fp8 TensorRT-LLM · reserved for 12 months, Vultr"
    mix = replace(made.mix, parts=tuple(replace(one, title=long) for one in made.mix.parts))
    (shown,) = [one.svg for one in charts(replace(made, mix=mix)) if one.key == "demand-mix"]
    rows = re.findall(r'<text [^>]*x="34\.0"[^>]*>([^<]+)<', shown)
    assert " ".join(rows).count("reserved for 12 months, Vultr") == len(made.mix.parts)
    assert all(34 + 7.6 * len(row) <= WIDTH for row in rows)
