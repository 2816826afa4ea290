"""The hand-made decision with all that may be told of money and doubt."""

from dataclasses import replace

from report_sample import decision, near

from cabida.plan.ledger import LedgerMonth, WalkAway
from cabida.plan.mix import Mix, MixLevel, MixPart, MixPath
from cabida.plan.ownership import Ownership, Rent
from cabida.plan.swing import Swing, VolumeCurve

SAY = {
    "en": {
        "turn": "Price of the choice above 3.90 EUR/h (taken: 3.10 EUR/h): option 2 wins.",
        "mix": "A mix of 3 reserved H100 and an API costs 12,000 EUR a month, 19 % under the best single option.",
        "risk": "Two contracts instead of one.",
        "parts": ("H100 SXM, reserved", "Model API"),
        "path": "without the API",
    },
    "es": {
        "turn": "Precio de lo elegido por encima de 3,90 EUR/h (tomado: 3,10 EUR/h): gana la opción 2.",
        "mix": "Una mezcla de 3 H100 reservadas y una API cuesta 12.000 EUR al mes, un 19 % menos que la mejor opción.",
        "risk": "Dos contratos en lugar de uno.",
        "parts": ("H100 SXM, reservadas", "API de modelos"),
        "path": "sin la API",
    },
}
PROFILE = (0.2,) * 8 + (1.0, 1.4, 1.6, 1.5, 1.3, 1.4, 1.8, 2.0, 1.9, 1.5, 1.2, 1.0, 0.8, 0.6, 0.4, 0.3)


def quantiles(value):
    return tuple(value * one for one in (0.7, 0.8, 0.84, 0.92, 1.02, 1.13, 1.24, 1.32, 1.5))


def months(purchase, monthly, resale=0.0, count=24):
    """Cash and expense of a purchase, or of a rent where nothing is bought."""
    made, cash, expense = [], 0.0, 0.0
    for month in range(count + 1):
        lines = {"purchase": purchase} if month == 0 and purchase else {}
        lines |= {"rent" if not purchase else "energy": monthly} if month else {}
        lines |= {"resale": -resale} if month == count and resale else {}
        wears = (purchase - resale) / count if month and purchase else 0.0
        costs = {"depreciation": wears, "energy": monthly} if purchase else {"rent": monthly}
        costs = costs if month else {}
        cash, expense = cash + sum(lines.values()), expense + sum(costs.values())
        begins = f"{2027 + (month // 12)}-{month % 12 + 1:02d}-01"
        made.append(
            LedgerMonth(
                month,
                begins,
                2,
                lines,
                costs,
                sum(lines.values()),
                sum(costs.values()),
                cash,
                expense,
                over_budget=month == 0 and bool(purchase),
            )
        )
    return tuple(made)


def owned():
    rent = Rent("cheapest", "Provider C", "2026-10-05", (), 2.69, 0.88, 31.0, 40.0, -90_000.0, 3.4)
    middle = Rent("median", "", "", (), 3.4, 0.69, 24.0, 30.0, -120_000.0, 3.4)
    return Ownership(
        accelerators_count=8, spare_accelerators_count=0, delivered_accelerators_count=7.9, years=4.0,
        utilisation_ratio=0.6,
        capital_lines={"accelerators": 240_000.0, "server": 80_000.0, "network": 30_000.0}, capital_money=350_000.0,
        running_lines={"colocation": 24_480.0, "staff": 15_000.0}, running_money_per_year=39_480.0,
        annuity_money_per_year=94_000.0, straight_line_money_per_year=70_000.0, financing_money_per_year=24_000.0,
        tax_money_per_year=0.0, owned_money_per_year=133_480.0, residual_low_money=20_000.0,
        residual_money=64_000.0, residual_high_money=100_000.0, residual_source="sales", available_money_per_hour=1.93,
        useful_money_per_hour=3.2, npv_money=-420_000.0, rents=(rent, middle),
    )  # fmt: skip


def mix(say):
    api = {"accelerator": "", "term_months": 0.0, "requests_per_s": 0.0, "flags": ()}
    parts = (
        MixPart(
            "h100",
            say["parts"][0],
            "a",
            "h100-sxm-80",
            "reserved",
            "Provider A",
            12.0,
            4.0,
            3,
            3,
            3,
            9_000.0,
            0.9,
        ),
        MixPart(
            "api",
            say["parts"][1],
            "d",
            capacity="api",
            provider="Provider B",
            replicas_least_count=0,
            replicas_most_count=0,
            accelerators_most_count=0,
            money_per_month=1_500.0,
            share_ratio=0.1,
            **api,
        ),
    )
    levels = (MixLevel(12.0, 60.0, 0, (3, 0), (11.0, 1.0)), MixLevel(4.0, 670.0, 0, (3, 0), (4.0, 0.0)))
    paths = (MixPath("without", say["path"], 13_400.0, 0.0019, 0.12),)
    return Mix(
        parts, levels, (), paths, 12_000.0, 0.0017, 7e6, 6.4e6, 1_500.0, 0.19, 0.0001, False, 1,
        say["mix"], say["risk"],
    )  # fmt: skip


def money_decision(language="en"):
    """All nouns of money at once."""
    say, made = SAY[language], decision(language)
    first, second, third, api, last = made.options
    unit = first.unit_cost.value
    first = replace(
        first,
        unit_cost_quantiles=quantiles(unit),
        ledger=months(0.0, 14_900.0),
        walk_away=WalkAway("USD", "accelerator_hour", 3.1, 2.7, 3.9, 3.4, -0.26, "b", "H200", 5.2, 4.5),
        metrics=first.metrics
        | {"energy_kwh_per_output": near(0.00068), "carbon_g_per_output": near(0.3), "req_s": near(13.4)},
    )
    second = replace(
        second,
        capacity="buy",
        unit_cost_quantiles=quantiles(second.unit_cost.value),
        ledger=months(350_000.0, 3_290.0, 150_000.0),
        ownership=owned(),
        walk_away=WalkAway("EUR", "accelerator", 30_000.0, 30_000.0, 24_000.0, 24_000.0, 0.2, "a", "H100"),
    )
    swings = (
        Swing("speed", "req/s", 10.0, 13.4, 17.0, unit * 1.3, unit, unit * 0.9, "b"),
        Swing(
            "price", "money/h", 2.6, 3.1, 4.3, unit * 0.9, unit, unit * 1.25, "", "b", 3.9, "b", say["turn"]
        ),
        Swing("electricity_money_per_kwh", "money/kWh", 0.08, 0.15, 0.256, unit * 0.99, unit, unit * 1.01),
        Swing("traffic", "req/s", 8.4, 12.0, 16.8, unit * 1.2, unit, unit * 0.85),
    )
    volumes = tuple(7e6 * 1.3**step for step in range(-12, 9))
    curves = (
        VolumeCurve("a", volumes, tuple(unit * (0.4 + 0.6 * 7e6 / one) for one in volumes), 7e6),
        VolumeCurve("b", volumes, tuple(unit * (0.2 + 1.0 * 7e6 / one) for one in volumes), 7e6),
    )
    brief = made.brief | {"traffic": {"profile": list(PROFILE), "requests_per_s_peak": 12.0}}
    return replace(
        made, brief=brief, options=(first, second, third, api, last), swings=swings, curves=curves,
        draws_count=2000, mix=mix(say),
    )  # fmt: skip
