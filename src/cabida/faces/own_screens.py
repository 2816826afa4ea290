"""The screen of ``own``: a year in two columns, the break-even picture, what it is held against, what follows."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.errors import InvalidInput
from cabida.faces import show
from cabida.faces.answers import held
from cabida.faces.grid import clean, table
from cabida.report import words as say
from cabida.report.tree import branch
from cabida.text import closest, has_text, problem, tr

REACH = 3.0  # a bar ends at so many times the rent
WIDEST = 60
SHOWN = 6  # rows of the longer tables without --all
RATIOS_AS_NUMBERS = ("pue_ratio", "host_power_ratio", "capital_ratio")


def screen(answer: dict[str, Any], *, every: bool) -> RenderableType:
    """The verdict first, then what it stands on."""
    blocks: list[RenderableType] = [clean(_head(answer)), Text(), clean(answer["verdict"], "bold"), Text()]
    blocks += [*_paid(answer), Text(), *_year(answer)]
    if answer["ownership"]["rents"]:
        blocks += [Text(), clean(tr("own.uses"), "bold"), Uses(answer), Text(), *_against(answer)]
    blocks += [Text(), *_ways(answer)]
    if every:
        blocks += [Text(), *_flips(answer), Text(), *_renewals(answer), Text(), *_swings(answer)]
        blocks += [Text(), *_others(answer)]
    blocks += [Text(), clean(tr("own.advice"), "bold")]
    blocks += [Padding(clean(f"· {one}"), (0, 0, 0, 2), expand=False) for one in answer["advice"]]
    rate = [Text(), clean(answer["price"]["rate"], "dim")] if answer["price"]["rate"] else []
    return Group(*blocks, Text(), *_assumed(answer, every=every), *rate)


def tree(answer: dict[str, Any], name: str) -> RenderableType:
    """How a figure was made."""
    top = branch(nodes(answer, name)["nodes"], answer["figures"][name], answer["currency"])
    return show.tree(top) if top else ""


def nodes(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """The nodes under a figure, itself first.

    Raises:
        InvalidInput: CB-R010, no figure is called that.
    """
    if name not in answer["figures"]:
        near = closest(name, answer["figures"]) or ", ".join([*answer["figures"]][:12])
        raise InvalidInput([problem("CB-R010", name=name, near=near)])
    by_id = {node["id"]: node for node in answer["trees"]}
    found: dict[int, dict[str, Any]] = {}
    waiting = [answer["figures"][name]]
    while waiting:
        at = waiting.pop(0)
        if at not in found:
            found[at] = by_id[at]
            waiting += [one["id"] for one in by_id[at]["inputs"]]
    return {"name": name, "nodes": list(found.values())}


class Uses:
    """An hour of useful work at several uses as bars, the rent a line across them."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.rows, self.currency = answer["by_use"], answer["currency"]
        self.rent = answer["ownership"]["rents"][0]["money_per_hour"]
        self.now = answer["ownership"]["utilisation_ratio"]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line for each use."""
        width = max(12, min(WIDEST, options.max_width - 34))
        plain = options.legacy_windows or options.ascii_only
        full, mark, more = ("#", "|", ">") if plain else ("█", "│", "▶")
        at = round(width / REACH)
        for row in self.rows:
            cost = row["useful_money_per_hour"]
            cells = max(1, round(cost / self.rent * width / REACH))
            bar = list((full * min(cells, width)).ljust(width))
            if cells > width:
                bar[-1] = more
            bar[at] = mark if at >= cells else bar[at]
            style = "green" if row["cheaper"] == "own" else "yellow"
            here = "*" if abs(row["utilisation"] - self.now) < 1e-9 else " "
            line = Text(f"{text.percent(row['utilisation']):>6}{here} ", no_wrap=True, overflow="crop")
            line.append("".join(bar), style)
            line.append(f" {say.decimal(cost, 2):>8}  {tr('own.cheaper.' + row['cheaper'])}")
            yield line
        yield clean(
            " " * (8 + at) + tr("own.rent_mark", rent=f"{say.decimal(self.rent, 2)} {self.currency}/h")
        )


def _head(answer: dict[str, Any]) -> str:
    owned, price = answer["ownership"], answer["price"]
    count = owned["accelerators_count"]
    head = tr(f"own.head.{answer['kind']}", count=count, name=answer["name"], each=answer["per_machine"])
    spare = owned["spare_accelerators_count"]
    each = tr(
        "own.price_machine" if price["whole_machine"] else "own.price_card",
        price=text.money(price["money"], answer["currency"]),
    )
    dated = "own.price_from" if price["seen"] else "own.price_undated"
    whom = tr(dated, **price) if price["provider"] else tr("own.price_stated")
    parts = [head, tr("own.spares", count=spare) if spare else "", f"{each} ({whom})"]
    return " · ".join(part for part in parts if part)


def _cents(amount: float) -> str:
    return say.decimal(amount, 2)


def _paid(answer: dict[str, Any]) -> list[RenderableType]:
    bill, currency = answer["bill"], answer["currency"]
    rows = [(tr(f"own.capital.{key}"), _cents(money)) for key, money in bill["capital"].items()]
    rows.append((tr("own.total"), _cents(bill["capital_money"])))
    return [table([tr("own.paid"), currency], rows, right=(1,))]


def _year(answer: dict[str, Any]) -> list[RenderableType]:
    bill, owned, currency = answer["bill"], answer["ownership"], answer["currency"]
    columns = bill["lines"]
    keys = dict.fromkeys([*columns["annuity"], *columns["straight_line"]])
    rows = [
        (
            tr(f"own.line.{key}"),
            *(_cents(columns[name].get(key, 0.0)) for name in ("annuity", "straight_line")),
        )
        for key in keys
    ]
    rows.append((tr("own.total"), *(_cents(bill["totals"][name]) for name in ("annuity", "straight_line"))))
    values = {"use": text.percent(owned["utilisation_ratio"]), "years": text.number(owned["years"])}
    wacc = next((one["base"] for one in answer["assumptions"] if one["name"] == "wacc_ratio"), None)
    rate = text.percent(wacc) if wacc is not None else currency
    head = [tr("own.year", **values), tr("own.annuity", rate=rate), tr("own.straight_line")]
    residual = {
        key: text.money(owned[f"residual_{name}money"], "" if name else currency).strip()
        for key, name in (("low", "low_"), ("base", ""), ("high", "high_"))
    }
    hourly = {
        name: f"{_cents(owned[f'{name}_money_per_hour'])} {currency}" for name in ("available", "useful")
    }
    return [
        table(head, rows, right=(1, 2)),
        clean(tr("own.hours", **hourly)),
        clean(tr("own.financing", money=f"{_cents(bill['financing'])} {currency}")),
        clean(tr("own.residual", source=owned["residual_source"], **residual)),
    ]


def _against(answer: dict[str, Any]) -> list[RenderableType]:
    owned, currency = answer["ownership"], answer["currency"]
    rows = []
    for one in owned["rents"]:
        even, payback, month = (
            one[key] for key in ("break_even_utilisation_ratio", "payback_months", "break_even_month")
        )
        whom = f"{one['provider']} {one['seen']}".strip()
        rows.append(
            (
                tr(f"own.kind.{one['kind']}", count=one["sightings_count"]),
                _cents(one["money_per_hour"]),
                whom or "–",
                text.percent(even) if even <= 1 else tr("own.never"),
                text.number(month, 4) if month is not None else tr("own.never"),
                tr("own.months", count=text.number(payback))
                if payback is not None and payback <= owned["years"] * 12
                else tr("own.never"),
                text.money(one["npv_money"], "").strip(),
            )
        )
    head = [tr("own.rent"), f"{currency}/h"]
    keys = ("source", "even_use", "even_month", "payback", "npv")
    head += [tr(f"own.{key}", currency=currency) for key in keys]
    own = tr("own.npv_own", money=text.money(owned["npv_money"], currency))
    title = clean(tr("own.against"), "bold")
    return [title, table(head, rows, right=(1, 3, 4, 5, 6), whole=(0, 1, 2)), clean(own)]


def _ways(answer: dict[str, Any]) -> list[RenderableType]:
    rows = []
    for one in answer["held_how"]:
        how = held(one["capacity"])
        if one["months"]:
            how = tr("choose.title.term", held=how, months=int(one["months"]))
        flags = ", ".join(tr(f"faces.flag.{flag}") for flag in one["flags"] if has_text(f"faces.flag.{flag}"))
        whom = f"{one['provider']} {one['seen']}".strip()
        rows.append(
            (how, _cents(one["money_per_hour"]), _cents(one["useful_money_per_hour"]), whom or "–", flags)
        )
    keys = ("way", "paid_hour", "useful_hour", "source", "flag")
    head = [tr(f"own.{key}", currency=answer["currency"]) for key in keys]
    return [clean(tr("own.ways"), "bold"), table(head, rows, right=(1, 2), whole=(0, 1, 2, 3))]


def _flips(answer: dict[str, Any]) -> list[RenderableType]:
    rows = [
        (
            _term(one["name"]),
            _value(one["name"], one["now"]),
            tr("own.never") if one["at"] is None else _value(one["name"], one["at"]),
        )
        for one in answer["flips"]
    ]
    if not rows:
        return []
    head = [tr(f"own.{key}") for key in ("input", "now", "at")]
    return [clean(tr("own.flips"), "bold"), table(head, rows, right=(1, 2))]


def _renewals(answer: dict[str, Any]) -> list[RenderableType]:
    owned = answer["ownership"]
    rows = [
        (
            (tr("own.years", count=text.number(one["years"])) if one["years"] > 1 else tr("own.one_year"))
            + (" *" if one["years"] == owned["renewal_years"] else ""),
            text.money(one["money_per_year"], answer["currency"]),
        )
        for one in owned["renewals"]
    ]
    return [table([tr("own.renewals"), tr("own.up_to_date_year")], rows, right=(1,))]


def _swings(answer: dict[str, Any]) -> list[RenderableType]:
    rows = [
        (
            _term(one["name"]),
            f"{_value(one['name'], one['low'])}–{_value(one['name'], one['high'])}",
            _cents(one["at_low_money"]),
            _cents(one["at_high_money"]),
        )
        for one in answer["swings"]
    ]
    head = [tr(f"own.{key}") for key in ("input", "range", "at_low", "at_high")]
    title = tr("own.swings", currency=answer["currency"])
    return [clean(title, "bold"), table(head, rows, right=(1, 2, 3))]


def _others(answer: dict[str, Any]) -> list[RenderableType]:
    rows = [
        (
            f"{one['name']} ({tr('own.used')})" if one["condition"] == "used" else one["name"],
            text.money(one["price_money"], "").strip(),
            _cents(one["useful_money_per_hour"]),
            _cents(one["money_per_pflops_hour"]),
            _cents(one["money_per_100_gib_hour"]),
            one["seen"] or "–",
        )
        for one in answer["others"]
    ]
    currency = answer["currency"]
    keys = ("card", "price", "useful_hour", "per_pflops", "per_100_gib")
    head = [*(tr(f"own.{key}", currency=currency) for key in keys), tr("faces.seen")]
    title = tr("own.others", currency=currency)
    return [clean(title, "bold"), table(head, rows, right=(1, 2, 3, 4))]


def _assumed(answer: dict[str, Any], *, every: bool) -> list[RenderableType]:
    """What was taken, with its range; sources with ``--all``, else of the ones that move the answer most."""
    moving = [one["name"] for one in answer["swings"]]
    found = answer["assumptions"]
    shown = [one for one in found if one["moves"] if every or one["name"] in moving]
    shown = shown if every else shown[:SHOWN]
    blocks: list[RenderableType] = [clean(tr("own.assumed"), "bold")]
    for one in shown:
        low, base, high = (_value(one["name"], one[key]) for key in ("low", "base", "high"))
        grade = say.grade(one["grade"])
        told = f"{_term(one['name'])}: {base} [{low}–{high}] ({grade}) {one['why']}"
        blocks.append(Padding(clean(told), (0, 0, 0, 2), expand=False))
    left = len(found) - len(shown)
    return [*blocks, clean(tr("own.more_assumed", count=left))] if left else blocks


def _term(name: str) -> str:
    key = f"own.term.{name}"
    return tr(key) if has_text(key) else say.assumption(name)


def _value(name: str, value: float) -> str:
    share = "_ratio" in name and not name.endswith(RATIOS_AS_NUMBERS)
    share = share or name.endswith("storage_capital_ratio")
    return text.percent(value, 3) if share else text.number(value, 4)
