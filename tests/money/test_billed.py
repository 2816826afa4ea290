"""Lines of a bill added up by month, in the words of FOCUS, by hand."""

from decimal import Decimal

import pytest

from cabida.evidence.prices.billing import BillingLine
from cabida.money.hold.billed import BilledMonth, billed_months, months_of


def line(start, end, billed="100", **more):
    plain = {
        "charge_start": start, "charge_end": end, "billed": Decimal(billed), "effective": Decimal(billed),
        "list": None, "contracted": None, "currency": "EUR", "charge_category": "Usage",
        "service_category": "Compute",
    }  # fmt: skip
    return BillingLine(**(plain | more))


@pytest.mark.parametrize(
    ("start", "end", "shares"),
    [
        ("2026-12-17", "2027-01-16", {"2026-12": 0.5, "2027-01": 0.5}),
        ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", {"2026-11": 1.0}),
        ("2026-01-31T12:00:00+00:00", "2026-03-01", {"2026-01": 0.5 / 28.5, "2026-02": 28 / 28.5}),
        ("2026-12-01", "2028-01-01", None),
        ("2026-11-05", "", {"2026-11": 1.0}),
        ("2026-11-05", "2026-11-04", {"2026-11": 1.0}),
    ],
)
def test_a_charge_falls_in_months_by_its_time(start, end, shares):
    found = months_of(line(start, end))
    assert sum(found.values()) == pytest.approx(1.0)
    if shares is None:
        assert len(found) == 13
        assert found["2027-02"] == pytest.approx(28 / 396)
    else:
        assert found == pytest.approx(shares)


def test_cash_leaves_at_once_and_cost_follows_the_time():
    bought = line("2026-12-17", "2027-01-16", "600", list=Decimal(800))
    paid = line("2026-12-03", "2026-12-04", "50", effective=None, charge_category="")
    found = billed_months([bought, paid], {"EUR": 2.0}, "USD")
    december, january = found["2026-12"], found["2027-01"]
    assert (december.cash_money, january.cash_money) == (1300.0, 0.0)
    assert (december.amortised_money, january.amortised_money) == (700.0, 600.0)
    assert (december.list_money, january.list_money) == (800.0, 800.0)
    assert (december.lines_count, january.lines_count) == (2, 0)
    assert (december.listed_count, december.unspread_count, january.unspread_count) == (1, 1, 0)
    assert december.by_category == {"usage": 600.0, "other": 100.0}
    assert december.currency == "USD"


def test_machines_by_the_hour_and_what_nobody_used_of_them():
    day = ("2026-11-05", "2026-11-06")
    hours = {"consumed_quantity": Decimal(24), "consumed_unit": "Hours"}
    found = billed_months(
        [
            line(*day, "48", **hours),
            line(*day, "6", **hours, pricing_category="Dynamic"),
            line(*day, "8", consumed_quantity=Decimal(16), consumed_unit="GPU Hours"),
            line(*day, "9", **hours, service_category="Networking"),
            line(*day, "5", **hours, commitment_status="Unused"),
            line(*day, "7", **hours, reservation_status="Unused"),
            line(*day, "3", consumed_quantity=Decimal(90), consumed_unit="GB"),
            line(*day, "2", pricing_quantity=Decimal(1), pricing_unit="Hours"),
            line(*day, "-4", charge_category="Credit", **hours),
        ],
        {"EUR": 1.0},
        "EUR",
        per_hour_count=8.0,
    )["2026-11"]
    assert found.amortised_money == pytest.approx(48 + 6 + 8 + 9 + 5 + 7 + 3 + 2 - 4)
    assert found.machine_money == pytest.approx(48 + 6 + 8 + 2)
    assert found.machine_hours == 8 * 49 + 16  # of accelerators: eight a machine, or as billed
    assert (found.unused_money, found.idle_reservation_money, found.spot_money) == (12.0, 7.0, 6.0)
    assert found.spot_ratio == pytest.approx(6 / 64)
    assert found.by_category == {"usage": 88.0, "credit": -4.0}
    assert BilledMonth("2026-11", "EUR").spot_ratio is None
