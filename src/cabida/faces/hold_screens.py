"""The screen of ``hold``: the demand with what is reserved of it, the terms side by side, and the other ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from cabida import text
from cabida.faces.grid import Fitting, clean, table
from cabida.faces.picture import is_plain
from cabida.report import words as say
from cabida.text import has_text, tr

WIDEST, TALLEST, LEAST = 64, 12, 24
GLYPHS = {"worked": ("█", "#"), "idle": ("░", "-"), "hourly": ("▒", "+")}
STYLES = {"worked": "green", "idle": "red", "hourly": "blue"}
WIDE, MIDDLE = 110, 90


class Curve:
    """The hours of the profile by how much they need, tallest first: what the reserved ones do of it, and the rest."""

    def __init__(self, ordered: Sequence[float], reserved: int) -> None:
        self.ordered, self.reserved = ordered, reserved

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One row for each unit, or for several where there are many."""
        plain = is_plain(options)
        top = max([*self.ordered, float(self.reserved)])
        each = max(1, -(-int(top) // TALLEST))
        label = max(len(text.number(top, 6)), 2)
        width = max(LEAST, min(WIDEST, options.max_width - label - 3))
        columns = [self.ordered[int(at * len(self.ordered) / width)] for at in range(width)]
        level = -(-int(top) // each) * each
        held = max(1, round(self.reserved / each)) * each if self.reserved else 0
        while level > 0:
            row = Text(f"{text.number(level, 6):>{label}} ", no_wrap=True, overflow="crop")
            row.append("|" if plain else "┤")
            for need in columns:
                kind = _kind(need, level - each, held)
                row.append(GLYPHS[kind][plain] if kind else " ", STYLES.get(kind, ""))
            yield row
            level -= each
        foot = f"{' ' * label} {'+' if plain else '└'}{('-' if plain else '─') * width}"
        yield Text(foot, style="dim", no_wrap=True, overflow="crop")
        yield Text(
            f"{' ' * (label + 2)}0 %{' ' * (width - 8)}100 %", style="dim", no_wrap=True, overflow="crop"
        )
        named = ("worked", "idle", "hourly") if self.reserved else ("hourly",)
        key = "  ".join(f"{GLYPHS[kind][plain]} {tr(f'hold.key.{kind}')}" for kind in named)
        yield Text(key, style="dim")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(LEAST, options.max_width)


def _kind(need: float, above: float, held: float) -> str:
    if above < held:
        return "worked" if need > above else "idle"
    return "hourly" if need > above else ""


def screen(answer: dict[str, Any]) -> RenderableType:
    """The demand, the answer, the terms, the other ways, and what to doubt."""
    best, demand = answer["best"], answer["demand"]
    profile = f"hold.profile.{demand['profile']}"
    head = tr(
        "hold.head_slices" if answer["slices"] else "hold.head",
        name=answer["name"],
        profile=tr(profile) if has_text(profile) else demand["profile"],
        asked=text.number(demand["asked_mean"]),
        mean=text.number(demand["mean"]),
        peak=text.number(demand["peak"], 6),
        months=answer["horizon_months"],
        currency=answer["currency"],
    )
    count = best["count"] if best else 0
    blocks: list[RenderableType] = [clean(head, "bold"), clean(verdict(answer)), Text()]
    blocks += [Curve(demand["duration_curve"], count), Text()]
    if answer["reservations"]:
        blocks += [_terms(answer), Text()]
    blocks += [Padding(clean(line), (0, 0, 0, 0)) for line in ways(answer)]
    if answer["warnings"]:
        blocks += [Text(), *(clean(f"! {line}", "yellow") for line in answer["warnings"])]
    taken = "; ".join(f"{say.assumption(one['name'])}: {one['value']}" for one in answer["assumptions"])
    return Group(*blocks, Text(), clean(tr("hold.taken", names=taken), "dim"))


def verdict(answer: dict[str, Any]) -> str:
    """The answer in a sentence."""
    best, currency = answer["best"], answer["currency"]
    by_hour = text.money(answer["on_demand_money_per_month"], currency)
    if not best or not best["count"]:
        return tr("hold.none", cost=by_hour, provider=answer["on_demand"]["provider"])
    said = tr(
        "hold.reserve_stated" if best["provider"] == tr("hold.stated") else "hold.reserve",
        count=text.number(best["count"], 6),
        months=best["term_months"],
        provider=best["provider"],
        price=text.money(best["money_per_hour"], currency),
        cost=text.money(best["money_per_month"], currency),
        by_hour=by_hour,
        saving=text.percent(best["saving_ratio"]),
        stranded=text.money(best["stranded_at_half_money"], currency),
    )
    return f"{said} {tr('hold.unquoted')}" if "assumed" in best["flags"] else said


def _terms(answer: dict[str, Any]) -> RenderableType:
    currency = answer["currency"]
    names = [
        "term",
        "provider",
        "price",
        "above",
        "count",
        "month",
        "saves",
        "idle",
        "stranded",
        "regret",
        "flags",
    ]
    rows = [
        {
            "term": tr("hold.months", count=row["term_months"]),
            "provider": row["provider"],
            "price": text.number(row["money_per_hour"]),
            "above": text.percent(row["pays_above_ratio"]),
            "count": text.number(row["count"], 6),
            "month": text.number(row["money_per_month"], 4),
            "saves": text.percent(row["saving_ratio"]),
            "idle": text.percent(row["idle_ratio"]) if row["count"] else "–",
            "stranded": text.number(row["stranded_at_half_money"]),
            "regret": text.number(row["largest_regret_money_per_month"]),
            "flags": ", ".join(_flag(one) for one in row["flags"]),
        }
        for row in answer["reservations"]
    ]
    made = [
        table(
            [tr(f"hold.column.{name}", currency=currency) for name in shown],
            [[row[name] for name in shown] for row in rows],
            right=[at for at, name in enumerate(shown) if name not in ("term", "provider", "flags")],
        )
        for shown in (
            names,
            [one for one in names if one not in ("above", "idle", "flags")],
            ["term", "price", "count", "month", "saves"],
        )
    ]
    return Fitting(made[0], Fitting(made[1], made[2], least=MIDDLE), least=WIDE)


def _flag(name: str) -> str:
    key = f"hold.flag.{name}"
    return tr(key) if has_text(key) else tr(f"faces.flag.{name}")


def ways(answer: dict[str, Any]) -> list[str]:
    """Spot, blocks, serverless and slices, a sentence each."""
    currency = answer["currency"]
    found = []

    def cash(amount: float) -> str:
        return text.money(amount, currency)

    if spot := answer["spot"]:
        hours, slow, paid = (
            spot[key] for key in ("between_interruptions_hours", "slowdown_ratio", "effective_money_per_hour")
        )
        found.append(
            tr(
                "hold.spot", provider=spot["provider"], price=cash(spot["money_per_hour"]),
                paid=cash(paid["base"]), low=cash(paid["low"]), high=cash(paid["high"]),
                slow=text.number(slow["base"]), hours=text.number(hours["base"]),
                least=text.number(hours["low"]), most=text.number(hours["high"], 6),
                interval=text.duration(spot["checkpoint_interval_s"]),
                even=text.number(spot["break_even_slowdown_ratio"]),
                work=text.number(spot["job_hours"]), without=text.number(spot["without_checkpoints_ratio"]),
                served=cash(spot["served_money_per_hour"]["base"]),
                away=text.percent(spot["unavailable_ratio"]),
            )
        )  # fmt: skip
    if block := answer["block"]:
        job = block["job"]
        found.append(
            tr(
                "hold.block", provider=block["provider"], price=cash(block["money_per_hour"]),
                work=text.number(job["work_hours"]), paid=text.number(job["block_hours"], 6),
                count=text.number(block["accelerators"], 6), cost=cash(job["money"]),
                by_hour=cash(job["on_demand_money"]),
            )
        )  # fmt: skip
    if serverless := answer["serverless"]:
        below = serverless["pays_below_ratio"]
        key = "hold.serverless" if below < 1 else "hold.serverless_always"
        values = {"provider": serverless["provider"], "price": cash(serverless["money_per_hour"])}
        found.append(tr(key, **values, below=text.percent(below)))
    if slices := answer["slices"]:
        found.append(
            tr(
                "hold.slices", each=slices["slices_per_card"], card=slices["card"],
                cards=text.number(slices["cards_at_peak"], 6), left=text.number(slices["left_at_peak"], 6),
                ratio=text.percent(slices["left_ratio"]), used=cash(slices["used_money_per_hour"]),
            )
        )  # fmt: skip
    return found
