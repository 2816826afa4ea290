"""Bills held against a decision: two views, causes that sum to the cent, faults that say what to type."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from report_sample import decision as sample

from cabida import track
from cabida.errors import InvalidInput
from cabida.evidence.prices.billing import BillingLine
from cabida.faces.cli import cli
from cabida.money.hold.billed import billed_months, months_of
from cabida.money.hold.variance import shapley, to_cents
from cabida.plan.ledger import LedgerMonth, WalkAway
from cabida.report.planned import Planned
from cabida.report.store import save
from cabida.report.track import Output, left_out, option_of, track_answer, variance
from cabida.text import use_language

COLUMNS = (
    "BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd", "BilledCost", "EffectiveCost", "ListCost",
    "ContractedCost", "ChargeCategory", "PricingCategory", "ServiceName", "ProviderName", "SkuId", "ConsumedQuantity",
    "ConsumedUnit", "CommitmentDiscountStatus", "CapacityReservationStatus", "Tags", "ResourceId",
)  # fmt: skip
FACTOR = st.floats(-1e4, 1e4) | st.just(0.0)


def charge(billed="100", effective="", start="2027-02-01", end="2027-03-01", hours="", **more):
    row = dict.fromkeys(COLUMNS, "") | {
        "BillingCurrency": "EUR", "ChargePeriodStart": f"{start}T00:00:00Z", "ChargePeriodEnd": f"{end}T00:00:00Z",
        "BilledCost": billed, "EffectiveCost": effective or billed, "ChargeCategory": "Usage",
        "PricingCategory": "Standard", "ServiceName": "GPU", "ConsumedQuantity": hours,
        "ConsumedUnit": "Hours" if hours else "", "Tags": json.dumps({"workload": "chat"}),
    }  # fmt: skip
    return row | more


def written(path, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def line(billed="100", effective=None, **more):
    plain = {
        "charge_start": "2027-02-01T00:00:00Z", "charge_end": "2027-03-01T00:00:00Z", "billed": Decimal(billed),
        "effective": None if effective is None else Decimal(effective), "list": None, "contracted": None,
        "currency": "EUR", "charge_category": "Usage",
    }  # fmt: skip
    return BillingLine(**(plain | more))


def decided(rent=1000.0):
    """A decision in EUR whose first option rents for ``rent`` a month from December 2026 on."""
    made = sample()
    rows = tuple(
        LedgerMonth(
            month=month,
            begins=f"{2026 + (month + 10) // 12}-{(month + 10) % 12 + 1:02d}-01",
            replicas_count=1,
            cash={"rent": rent, "people": 500.0},
            expense={"rent": rent, "people": 500.0, "other": 50.0},
        )
        for month in range(1, 13)
    )
    price = WalkAway("EUR", "accelerator_hour", 2.0, 2.0, None, None, None, "", "")
    first = replace(made.options[0], ledger=rows, walk_away=price, capacity="on-demand")
    return replace(made, currency="EUR", options=(first, *made.options[1:]))


@given(st.dictionaries(st.sampled_from("abcde"), st.tuples(FACTOR, FACTOR), min_size=1))
def test_shapley_sums_to_the_difference_whatever_the_order(pairs):
    planned, actual = ({name: pair[at] for name, pair in pairs.items()} for at in (0, 1))
    found = shapley(planned, actual)
    whole = 1.0
    before = 1.0
    for name in pairs:
        whole, before = whole * actual[name], before * planned[name]
    scale = max(abs(whole), abs(before), *(abs(one) for one in found.values()), 1e-9)
    assert sum(found.values()) == pytest.approx(whole - before, abs=1e-9 * scale)
    turned = dict(reversed(list(planned.items())))
    assert shapley(turned, actual) == pytest.approx(found, rel=1e-9, abs=1e-9 * scale)
    for name in pairs:
        if planned[name] == actual[name]:
            assert found[name] == 0


def test_shapley_of_two_is_the_mean_of_both_orders():
    found = shapley({"hours": 100.0, "price": 2.0}, {"hours": 150.0, "price": 3.0})
    assert found == {"hours": pytest.approx((100 + 150) / 2), "price": pytest.approx((100 + 150) / 2)}


@given(st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_amounts_to_the_cent_sum_to_the_whole(parts):
    whole = sum(parts.values())
    shown = to_cents(parts, whole)
    assert round(sum(round(value * 100) for value in shown.values())) == round(whole * 100)
    assert all(abs(shown[name] - parts[name]) <= 0.0101 for name in parts)


@given(
    st.floats(0, 1e5), st.floats(-1e3, 1e4), st.floats(0, 1e5), st.just(0) | st.floats(0.1, 1e4),
    st.just(0) | st.floats(0.5, 1e6), st.none() | st.floats(0.5, 1e6), st.none() | st.floats(0.01, 50),
    st.floats(-5e3, 5e3),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_the_causes_of_a_month_sum_to_its_difference(
    rent, other, paid, hours, accepted, attempts, price, credit
):
    plan = Planned(1, rent, other, rent, 500.0, 1.2, price, {})
    lines = [
        line(str(paid), str(paid), consumed_quantity=Decimal(str(hours)), consumed_unit="Hours"),
        line(str(credit), str(credit), charge_category="Credit"),
        line("37", "37", charge_category="Tax"),
        line("11", "11", commitment_status="Unused", consumed_quantity=Decimal(5), consumed_unit="Hours"),
    ]
    billed = billed_months(lines, {"EUR": 1.0}, "EUR")["2027-02"]
    for output in (None, Output(accepted, attempts)):
        found = variance(plan, billed, output)
        scale = max(1.0, paid, rent, *(abs(value) for value in found.values()))
        assert sum(found.values()) == pytest.approx(billed.amortised_money - plan.money, abs=1e-9 * scale)


def test_a_month_by_hand():
    lines = [
        line(
            "3300",
            "3300",
            consumed_quantity=Decimal(1100),
            consumed_unit="Hours",
            pricing_category="Standard",
        )
    ]
    plan = Planned(1, 2000.0, 0.0, 2000.0, 1e6, 1.25, 2.0, {})
    billed = billed_months(lines, {"EUR": 1.0}, "EUR")["2027-02"]
    found = variance(plan, billed, Output(1e6, 1.25e6))
    assert found["volume"] == found["acceptance"] == 0  # as many, as good
    assert found["utilisation"] == pytest.approx(100 * (2 + 3) / 2)  # 100 hours more, at both prices
    assert found["price"] == pytest.approx((1000 + 1100) / 2)
    assert found["unexplained"] == pytest.approx(0, abs=1e-9)


def test_cash_and_amortised_are_never_added():
    bought = line("1200", "0", charge_category="Purchase")  # a year's commitment, paid now
    used = line("0", "80", consumed_quantity=Decimal(40), consumed_unit="Hours", commitment_status="Used")
    wasted = line("0", "20", consumed_quantity=Decimal(10), consumed_unit="Hours", commitment_status="Unused")
    found = billed_months([bought, used, wasted], {"EUR": 1.0}, "EUR")["2027-02"]
    assert (found.cash_money, found.amortised_money) == (1200.0, 100.0)
    assert (found.unused_money, found.machine_hours, found.machine_money) == (20.0, 40.0, 80.0)
    idle = line("10", "10", reservation_status="Unused")
    spot = line("30", "30", pricing_category="Dynamic", consumed_quantity=Decimal(30), consumed_unit="hrs")
    more = billed_months([used, idle, spot], {"EUR": 2.0}, "EUR")["2027-02"]
    assert more.idle_reservation_money == 20.0
    assert more.spot_ratio == pytest.approx(30 / 110)


def test_hours_of_a_load_balancer_are_no_machines():
    hours = {"consumed_quantity": Decimal(100), "consumed_unit": "Hours"}
    lines = [line(service_category="Compute", **hours), line(service_category="Networking", **hours)]
    [month] = billed_months(lines, {"EUR": 1.0}, "EUR").values()
    assert (month.machine_hours, month.machine_money) == (100.0, 100.0)
    assert month.amortised_money == 200.0


def test_a_charge_over_months_is_spread_by_its_days():
    long = line("900", "900", charge_start="2027-01-31T00:00:00Z", charge_end="2027-03-02T00:00:00Z")
    assert months_of(long) == pytest.approx({"2027-01": 1 / 30, "2027-02": 28 / 30, "2027-03": 1 / 30})
    found = billed_months([long], {"EUR": 1.0}, "EUR")
    assert found["2027-02"].amortised_money == pytest.approx(840)
    assert [found[month].cash_money for month in sorted(found)] == [900.0, 0.0, 0.0]  # when it is invoiced


def test_a_bill_beside_its_plan(tmp_path):
    bill = written(
        tmp_path / "focus.csv",
        charge("1500", hours="600"),
        charge("-100", ChargeCategory="Credit", PricingCategory=""),
        charge("200", Tags=json.dumps({"workload": "other"}), hours="90"),
    )
    answer = track(decided(), [bill], tags={"workload": "chat"}, accepted=1000.0, month="2027-02")
    (month,) = answer["months"]
    assert (
        month["planned_money"] == 1020.0
    )  # 30 of the 50 are gateway and monitoring, of which the bill has none
    assert (month["amortised_money"], month["difference_money"]) == (1400.0, 380.0)
    assert sum(month["variance_money"].values()) == pytest.approx(380.0)
    assert month["variance_money"]["credits"] == -100.0
    assert month["planned_accelerator_hours"] == 500.0
    assert month["waterfall"][-1]["to"] == 1400.0
    assert month["waterfall"][-2]["to"] == pytest.approx(1400.0)
    assert month["planned_aside_money"] == {"people": 500.0, "gateway": pytest.approx(30.0)}
    assert "380 EUR" in month["sentence"]
    assert answer["left_out"] == {"lines_count": 1, "money": {"EUR": 200.0}}
    assert "1 of the bill's 3 lines, 200 EUR" in answer["notes"][0]
    assert any("gateway and monitoring 30 EUR" in note for note in answer["notes"])


def test_what_is_left_out_is_counted_by_currency_and_month():
    mine, other = line("100"), line("70", currency="USD")
    later = replace(line("5"), charge_start="2027-03-01T00:00:00Z")
    unpaid = replace(line("1"), billed=None, effective=Decimal(9))
    told = left_out([mine, other, later, unpaid], [mine], "2027-02")
    assert told == {"lines_count": 2, "money": {"USD": 70.0, "EUR": 9.0}}


def test_a_gateway_that_is_billed_is_held_against_its_plan(tmp_path):
    """Other lines beyond storage and network can only be it: the whole plan is compared, and nothing is left out."""
    bill = written(
        tmp_path / "focus.csv", charge("1000", hours="500"), charge("45", ServiceName="Compute VM", hours="")
    )
    answer = track(decided(), [bill], accepted=1000.0)
    (month,) = answer["months"]
    assert month["planned_money"] == 1050.0
    assert month["planned_aside_money"] == {"people": 500.0}
    assert answer["left_out"] == {"lines_count": 0, "money": {}}


def test_months_are_kept_and_told_again(tmp_path):
    store, where = tmp_path / "s.db", save(decided(), tmp_path / "d.json")
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    assert track(where, store=store)["journal"] == []
    track(where, [bill], accepted=10.0, keep=True, store=store)
    again = written(tmp_path / "g.csv", charge("1400", hours="600"))
    track(where, [again], accepted=10.0, keep=True, store=store)
    journal = track(where, store=store)["journal"]
    assert [one["amortised_money"] for one in journal] == [1400.0]  # told again, the last counts
    assert track(where, option="2", store=store)["journal"] == []


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"option": "99"}, "CB-R020"),
        ({"tags": {"workload": "nobody's"}}, "CB-R022"),
        ({"month": "2031-01"}, "CB-R025"),
        ({"month": "February"}, "CB-R028"),
    ],
)
def test_what_can_not_be_told_says_what_to_type(tmp_path, said, code):
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    with pytest.raises(InvalidInput) as caught:
        track(decided(), [bill], **said)
    assert [one.code for one in caught.value.problems] == [code]
    assert caught.value.problems[0].cure


def test_a_currency_without_a_rate_and_one_with(tmp_path):
    bill = written(tmp_path / "f.csv", charge("1000", hours="600", BillingCurrency="XOF"))
    with pytest.raises(InvalidInput, match="CB-R023"):
        track(decided(), [bill])
    assert track(decided(), [bill], rates={"XOF": 2.0})["months"][0]["amortised_money"] == 2000.0
    dated = written(tmp_path / "g.csv", charge("1000", hours="600", BillingCurrency="USD"))
    (rate,) = track(decided(), [dated])["rates"]
    assert rate["seen"] <= "2027-02-28"


def test_a_charge_in_two_files_is_refused_and_twice_in_one_is_not(tmp_path):
    row = charge("1500", hours="600")
    first, second = written(tmp_path / "f.csv", row, row), written(tmp_path / "g.csv", row)
    assert track(decided(), [first])["months"][0]["amortised_money"] == 3000.0
    with pytest.raises(InvalidInput, match="CB-R024"):
        track(decided(), [first, second])


def test_an_empty_bill_and_a_decision_without_a_bill(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(InvalidInput):
        track(decided(), [empty])
    bare = decided()
    bare = replace(bare, options=(replace(bare.options[0], cost_lines=()),))
    with pytest.raises(InvalidInput, match="CB-R021"):
        option_of(bare)


def test_outputs_of_several_months_come_from_a_table(tmp_path):
    bill = written(
        tmp_path / "f.csv",
        charge("1500", hours="600"),
        charge("1100", hours="500", start="2027-03-01", end="2027-04-01"),
    )
    table = tmp_path / "outputs.csv"
    table.write_text("month,accepted,requests\n2027-02,1000,1300\n2027-03,900,\n", encoding="utf-8")
    answer = track(decided(), [bill], outputs=table)
    assert [one["accepted"] for one in answer["months"]] == [1000.0, 900.0]
    table.write_text("month,accepted\n2027-02,many\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"outputs.csv:2: .*CB-R027"):
        track(decided(), [bill], outputs=table)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("month,accepted,requests\n2027-02,5,10\n2027-02,6,10\n", 3),  # told twice
        ("month,accepted,requests\n2027-02,50,10\n", 2),  # more accepted than tried
        ("month,accepted,requests\n2027-02,nan,10\n", 2),
        ("month,accepted,requests\n", 0),
        ('month,accepted\n2027-02,"' + "x" * 200_000 + '"\n', 0),
    ],
)
def test_a_table_of_outputs_is_whole_or_refused(tmp_path, text, line):
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    table = tmp_path / "outputs.csv"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        track(decided(), [bill], outputs=table)
    assert [(one.code, one.line) for one in refused.value.problems] == [("CB-R027", line)]


def test_outputs_come_from_files_alone(tmp_path):
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    with pytest.raises(InvalidInput, match="CB-R027"):
        track(decided(), [bill], outputs="/dev/zero")


@pytest.mark.parametrize(
    ("said", "code"), [({"accepted": 100.0, "requests": 1.0}, "CB-U054"), ({"requests": 9.0}, "CB-U050")]
)
def test_counts_that_cannot_be_are_refused(tmp_path, said, code):
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    with pytest.raises(InvalidInput, match=code):
        track(decided(), [bill], **said)


@pytest.mark.parametrize(
    "rates", [("XXXX=1",), ("EUR=1.1", "EUR=1.2"), ("EUR=0",), ("EUR=nan",), ("EUR=1,08",)]
)
def test_rates_that_cannot_be_are_refused(rates):
    words = [word for rate in rates for word in ("--rate", rate)]
    assert CliRunner().invoke(cli, ["track", "decision.json", *words]).exit_code == 2


def test_without_outputs_or_hours_it_says_what_to_pass(tmp_path):
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    answer = track(decided(), [bill])
    assert set(answer["months"][0]["variance_money"]) == {"use", "price", "other", "unexplained"}
    assert any("--accepted" in note for note in answer["notes"])
    flat = written(tmp_path / "g.csv", charge("1500"))
    answer = track(decided(), [flat], accepted=1000.0)
    assert set(answer["months"][0]["variance_money"]) == {"volume", "rate", "other", "unexplained"}
    nothing = track(decided(), [bill], accepted=0.0)
    assert set(nothing["months"][0]["variance_money"]) == {"use", "price", "other", "unexplained"}
    assert nothing["months"][0]["billed_unit_money"] is None


@pytest.mark.parametrize(("language", "word"), [("en", "over the plan"), ("es", "más que")])
def test_the_command_in_both_languages(tmp_path, language, word):
    where = save(decided(), tmp_path / "d.json")
    bill = written(tmp_path / "f.csv", charge("1500", hours="600"))
    words = ["--lang", language, "track", str(where), "--billing", str(bill), "--accepted", "1000"]
    done = CliRunner().invoke(cli, words, env={"NO_COLOR": "1", "CABIDA_STORE": str(tmp_path / "s.db")})
    assert done.exit_code == 0, done.output
    assert word in " ".join(done.output.split())
    told = CliRunner().invoke(cli, [*words, "--json"], env={"CABIDA_STORE": str(tmp_path / "s.db")})
    assert json.loads(told.output)["months"][0]["amortised_money"] == 1500.0


def test_growth_moves_what_was_planned():
    made = decided()
    grown = replace(
        made, brief={**made.brief, "traffic": {"growth_per_year_ratio": 1.0}, "horizon_months": 12.0}
    )
    first, last = (
        track_answer(grown, grown.options[0], [line(charge_start=f"{day}T00:00:00Z", charge_end="")], {})[
            "months"
        ][0]
        for day in ("2026-12-10", "2027-11-10")
    )
    assert last["planned_accepted"] == pytest.approx(first["planned_accepted"] * 2 ** (11 / 12))


def test_lines_nobody_could_read_are_told(tmp_path):
    bill = written(tmp_path / "bill.csv", charge(), charge(billed="much"), charge(start="soon"))
    use_language("en")
    answer = track(decided(), [bill])
    assert answer["months"][0]["amortised_money"] == 100.0
    assert answer["notes"][0].startswith("2 lines of bill.csv could not be read")
    assert "line 3" in answer["notes"][0]


def test_a_month_is_converted_at_its_own_last_rate(tmp_path):
    bill = written(tmp_path / "bill.csv", charge(start="2026-08-01", end="2026-09-01", BillingCurrency="USD"))
    (rate,) = track(decided(), [bill])["rates"]
    assert rate["seen"] == "2026-08-31"
