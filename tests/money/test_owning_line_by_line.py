"""A purchase and its ledger line by line, worked out beside them with plain arithmetic."""

from dataclasses import replace

import pytest
from money_world import CARD, offer

from cabida import money
from cabida.money.hold.ledger import Anyway, Drawn, Kept, MonthBill, ledger
from cabida.money.own.purchase import Purchase, worked_out
from cabida.money.ways import Plain

STATED = {
    "wacc_ratio": 0.1, "life_years": 4.0, "decay_ratio": 0.2, "busy_power_ratio": 0.8, "idle_power_ratio": 0.1,
    "host_power_ratio": 1.5, "electricity_money_per_kwh": 0.2, "pue_ratio": 1.4, "support_ratio_per_year": 0.1,
    "spares_ratio_per_year": 0.02, "licence_money_per_year": 1200.0, "licences_count_per_accelerator": 2.0,
    "server_capital_ratio": 1.5, "network_capital_ratio": 1.2, "install_share_ratio": 0.25,
    "storage_capital_ratio": 0.1, "duty_ratio": 0.05, "purchase_tax_ratio": 0.21, "insurance_ratio_per_year": 0.01,
    "node_staff_count": 0.1, "loaded_money_per_year": 100_000.0, "tax_ratio": 0.25, "node_availability_ratio": 1.0,
    "colocation_money_per_kw_per_month": 180.0, "desktop_capital_money": 900.0, "desktop_pue_ratio": 1.1,
    "desktop_host_power_ratio": 1.25, "desktop_support_ratio_per_year": 0.03, "desktop_availability_ratio": 1.0,
    "rack_capital_ratio": 1.1,
}  # fmt: skip
TERMS = money.terms("USD", as_of="2026-11-30", stated=STATED)
NODE = Purchase(CARD, offer("30000", "buy"), "server", 8, 16, 8, 2, 0.5, by_meter=True)


def parts_of(found, side):
    head = f"{side}."
    return {key.removeprefix(head): value for key, value in found.items() if key.startswith(head) and value}


def test_two_servers_one_of_them_a_spare():
    found = worked_out(Plain(TERMS), NODE)
    cards = 16 * 30_000.0
    server = cards * 1.5
    untaxed = {
        "accelerators": cards, "server": cards * 0.5, "network": server * 0.2 * 0.75, "install": server * 0.2 * 0.25,
        "storage": server * 0.1, "duty": server * 0.05,
    }  # fmt: skip
    capital = sum(untaxed.values()) * 1.21
    assert parts_of(found, "capital") == pytest.approx(untaxed | {"tax": capital / 1.21 * 0.21})
    watts = 700 * (0.25 * 0.8 + 0.75 * 0.1) * 1.5  # half of the use on half of what is held
    kwh = watts / 1000 * 16 * 8760
    running = {
        "energy": kwh * 0.2, "cooling": kwh * 0.4 * 0.2, "staff": 2 * 0.1 * 100_000, "support": capital * 0.1,
        "parts": capital * 0.02, "licences": 16 * 2 * 1200, "insurance": capital * 0.01,
    }  # fmt: skip
    assert parts_of(found, "running") == pytest.approx(running)
    recovery = 0.1 / (1 - 1.1**-4)
    resale = cards * 0.8**4
    annuity, straight = (capital - resale / 1.1**4) * recovery, (capital - resale) / 4
    owned = annuity + (annuity - straight) * 0.25 / 0.75 + sum(running.values())
    assert found["owned"] == pytest.approx(owned)
    assert found["accounts"] == pytest.approx(straight + sum(running.values()))
    assert found["available"] == pytest.approx(owned / 8760 / 8)  # what is needed is always up
    assert found["useful"] == pytest.approx(found["available"] / 0.5)
    # value today: pay, run four years after tax, shield what it loses, resell
    years = [sum(running.values()) * 0.75 - straight * 0.25] * 4
    paid = sum(each / 1.1**year for year, each in enumerate(years, 1))
    assert found["npv"] == pytest.approx(-(capital + paid - resale / 1.1**4))


def test_colocation_takes_the_place_of_energy_and_cooling():
    found = parts_of(worked_out(Plain(TERMS), replace(NODE, by_meter=False)), "running")
    assert found["colocation"] == pytest.approx(700 * 1.5 * 16 / 1000 * 180 * 12)
    assert not {"energy", "cooling"} & set(found)
    stated = parts_of(worked_out(Plain(TERMS), replace(NODE, by_meter=False, reserved_kw=30.0)), "running")
    assert stated["colocation"] == pytest.approx(30 * 180 * 12)


def test_a_card_at_home_and_the_rest_of_its_pc():
    stated = {**STATED, "network_capital_ratio": 1.2}
    del stated["network_capital_ratio"], stated["licence_money_per_year"]
    home = money.terms("USD", as_of="2026-11-30", stated=stated)
    pc = Purchase(CARD, offer("2000", "buy"), "desk", 2, 2, 1, 2, 0.5, by_meter=True, staffed=False)
    found = worked_out(Plain(home), pc)
    machine = 4000 + 1800
    paid = {"accelerators": 4000, "server": 1800, "storage": machine * 0.1, "duty": machine * 0.05}
    whole = sum(paid.values())
    assert parts_of(found, "capital") == pytest.approx(paid | {"tax": whole * 0.21})
    kwh = 700 * 0.45 * 1.25 / 1000 * 2 * 8760
    capital = whole * 1.21
    assert parts_of(found, "running") == pytest.approx(
        {
            "energy": kwh * 0.2, "cooling": kwh * 0.1 * 0.2, "support": capital * 0.03, "parts": capital * 0.02,
            "insurance": capital * 0.01,
        }
    )  # fmt: skip
    measured = worked_out(Plain(home), replace(pc, busy_w=400.0, idle_w=20.0))
    assert measured["running.energy"] == pytest.approx(210 * 1.25 / 1000 * 2 * 8760 * 0.2)
    there = parts_of(worked_out(Plain(home), replace(pc, have_machine=True)), "capital")
    assert "server" not in there


def test_a_desk_is_a_desk_up_to_eight_and_a_rack_counts_as_servers_of_eight():
    eight = replace(NODE, kind="desk", held_count=8)
    assert eight.at_desk
    assert not replace(eight, held_count=9).at_desk
    assert replace(NODE, kind="rack", held_count=72, machines_count=1).staffed_machines == 9
    assert NODE.staffed_machines == 2


YEAR = [MonthBill(1, 1, {"rent": 1200.0, "energy": 10.0}, 1200.0)] * 24


def test_prepaid_rent_leaves_before_each_term_and_counts_month_by_month():
    rows = ledger(YEAR, 24.0, "2027-01-01", prepaid_ratio=1.0, term_months=12)
    assert [(row.month, row.cash["prepaid"]) for row in rows if "prepaid" in row.cash] == [
        (0, 14_400.0),
        (12, 14_400.0),
    ]
    assert all("rent" not in row.cash and row.expense["rent"] == 1200.0 for row in rows[1:])
    half = ledger(YEAR, 24.0, "2027-01-01", prepaid_ratio=0.5, term_months=12)
    assert (half[0].cash["prepaid"], half[5].cash["rent"], half[5].expense["rent"]) == (7200.0, 600.0, 1200.0)


def test_what_is_owed_anyway_ends_in_the_middle_of_a_month():
    owed = Anyway(100.0, 6.5, 40.0, 650.0)
    assert owed == Anyway(
        money_per_month=100.0, months=6.5, back_money_per_month=40.0, paid_before_money=650.0
    )
    rows = ledger(YEAR, 24.0, "2027-01-01", anyway=[owed])
    assert [row.cash.get("owed", 0.0) for row in rows[:9]] == [0, 100, 100, 100, 100, 100, 100, 50, 0]
    assert [row.cash.get("sublet", 0.0) for row in rows[:9]] == [0, -40, -40, -40, -40, -40, -40, -20, 0]
    assert [row.expense.get("owed", 0.0) for row in rows[:9]] == [0, 200, 200, 200, 200, 200, 200, 100, 0]
    assert rows[0].paid_before_money == 650.0
    assert all(row.paid_before_money == 0 for row in rows[1:])


def test_a_commitment_covers_to_its_end_and_a_credit_what_it_leaves():
    drawn = [Drawn("credit", 900.0, 3.5), Drawn("commitment", 500.0, 2.5, 0.1)]
    rows = ledger(YEAR, 24.0, "2027-01-01", drawn=drawn)
    # a month: 120 off, 500 covered, 580 left for the credit; half a month of each in the third
    assert [row.cash.get("commitment", 0.0) for row in rows[:5]] == [0, -620, -620, -310, 0]
    assert [row.cash.get("credit", 0.0) for row in rows[:5]] == [0, -580, -320, 0, 0]
    assert [row.credit_left_money for row in rows[:4]] == [900, 320, 0, 0]
    lost = ledger(YEAR, 24.0, "2027-01-01", drawn=[Drawn("credit", 5000.0, 2.5)])
    assert [row.credit_lost_money for row in lost[:5]] == [0, 0, 0, 5000 - 2.5 * 1200, 0]
    assert [row.credit_left_money for row in lost[:5]] == [5000, 3800, 2600, 0, 0]


def test_what_is_there_falls_to_what_it_brings_or_is_replaced_when_worn():
    kept = Kept(8000.0, 6000.0, 0.5, 48.0, held_count=3, book_money=10_000.0)
    bills = [MonthBill(1, 3, {"energy": 10.0})] * 12
    rows = ledger(bills, 12.0, "2027-01-01", kept=kept)
    assert rows[12].cash["resale"] == -9000.0  # half a year's worth after a year
    assert all(row.expense["depreciation"] == (30_000 - 9000) / 12 for row in rows[1:])
    worn = ledger(bills, 12.0, "2027-01-01", kept=replace(kept, renewed_at_months=6.0))
    assert [row.cash["purchase"] for row in worn if "purchase" in row.cash] == [24_000.0]
    assert worn[7].cash["purchase"] == 24_000.0
    back = round(3 * 6000 * 0.5**0.5, 2)
    assert worn[12].cash["resale"] == -back
    assert all(row.expense["depreciation"] == 5000.0 for row in worn[1:7])
    assert sum(row.expense["depreciation"] for row in worn[7:]) == pytest.approx(24_000 - back)


def test_more_is_bought_when_it_is_needed_and_a_short_life_is_bought_again():
    kept = Kept(8000.0, 8000.0, 0.0, 4.0)
    bills = [MonthBill(1, 1 if month < 6 else 2, {"energy": 10.0}) for month in range(12)]
    rows = ledger(bills, 12.0, "2027-01-01", kept=kept)
    bought = {row.month: row.cash["purchase"] for row in rows if "purchase" in row.cash}
    assert bought == {0: 8000.0, 5: 8000.0, 7: 8000.0, 9: 8000.0, 11: 8000.0}
    sold = {row.month: row.cash["resale"] for row in rows if "resale" in row.cash}
    assert sold == {4: -8000.0, 8: -8000.0, 10: -8000.0, 12: -16_000.0}


def test_a_budget_is_passed_only_beyond_it():
    bills = [MonthBill(1, 1, {"people": 1000.0})] * 3
    said = [
        [row.over_budget for row in ledger(bills, 3.0, "2027-01-01", **limits)]
        for limits in (
            {"monthly_budget_money": 1000.0},
            {"monthly_budget_money": 999.99},
            {"total_budget_money": 2000.0},
            {"monthly_budget_money": 999.99, "total_budget_money": 9e9},
            {},
        )
    ]
    assert said == [
        [False] * 4,
        [False, True, True, True],
        [False, False, False, True],
        [False, True, True, True],
        [False] * 4,
    ]
