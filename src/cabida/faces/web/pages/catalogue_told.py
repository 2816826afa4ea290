"""Figures, prices and sources of the catalogue as text, in the language in use."""

from __future__ import annotations

from typing import Any

from cabida.report import words as say
from cabida.report.svg import Chart
from cabida.text import has_text, money, number, percent, size, tr

OF_SPOT = ("spot", "interruptions")  # what the word spot says already
SEGMENTS = ("datacenter", "workstation", "consumer", "apple", "tpu", "edge")


def drawn(chart: Chart | None) -> dict[str, Any] | None:
    """A picture for a template: its drawing is markup that this program wrote."""
    from markupsafe import Markup

    if chart is None:
        return None
    made = {name: getattr(chart, name) for name in ("key", "title", "caption", "header", "rows")}
    return {**made, "drawn": Markup(chart.svg)}  # every text in it was escaped where it was drawn


def figure(value: float | None, digits: int = 3) -> str:
    """A figure, ``–`` where nobody saw one."""
    return "–" if value is None else number(value, digits)


def segment(name: str) -> str:
    """What sort of accelerator: for a data centre, a workstation ..."""
    return tr(f"pages_catalogue.segment.{name}") if name in SEGMENTS else name


def held(capacity: str) -> str:
    """How an offer is held: on demand, reserved ..."""
    return tr(f"choose.capacity.{capacity}") if has_text(f"choose.capacity.{capacity}") else capacity


def term(one: dict[str, Any]) -> str:
    """How an offer is held and for how long."""
    months = one.get("term_months")
    more = f" {tr('faces.book.months', count=months)}" if months else ""
    return held(one["capacity"]) + more


def price(one: dict[str, Any]) -> str:
    """``3.90 USD/GPU-h``."""
    digits = 4 if abs(one["amount"]) < 0.1 else 2
    return f"{say.decimal(one['amount'], digits)} {one['currency']}/{tr('faces.unit.' + one['unit'])}"


def minded(one: dict[str, Any]) -> str:
    """What to mind of a price."""
    told = [tr(f"faces.flag.{flag}") for flag in one.get("flags", ()) if flag not in OF_SPOT]
    if one.get("sold_together", 1) > 1:
        told.append(tr("faces.book.together", count=one["sold_together"]))
    if one.get("fraction", 1.0) < 1:
        told.append(tr("faces.book.fraction", share=percent(one["fraction"])))
    if one.get("until"):
        told.append(tr("faces.book.until", until=one["until"]))
    return ", ".join(told)


def price_row(one: dict[str, Any]) -> dict[str, Any]:
    """A price of accelerators as a row of text."""
    return {
        "id": one["id"],
        "gpu": one["gpu"],
        "provider": one["provider"],
        "held": term(one),
        "region": one["region"] or "–",
        "price": price(one),
        "seen": one["seen"] or tr("report.undated"),
        "minded": minded(one),
        "source": one["source"],
        "sighted": f"{say.decimal(one['sighted_amount'], 2)} {one['sighted_currency']}"
        if "rate" in one
        else "",
    }


def rates_of(rows: list[dict[str, Any]]) -> list[str]:
    """The rates that rows were converted at, a sentence each."""
    found = {(one["sighted_currency"], one["currency"]): one for one in rows if "rate" in one}
    return [
        tr(
            "money.rate",
            of=of,
            to=to,
            rate=number(one["rate"], 5),
            seen=one["rate_seen"],
            what=one["rate_source"],
        )
        for (of, to), one in found.items()
    ]


def accelerator_figure(field: str, value: Any) -> tuple[str, str]:
    """The name and the value of a figure of an accelerator."""
    name, _, entry = field.partition(".")
    if name == "flop_per_s":
        unit = "TOPS" if entry.startswith("int") else "TFLOPS"
        return tr(
            "pages_catalogue.figure.flop_per_s", kind=entry.upper()
        ), f"{number(value / 1e12, 4)} {unit}"
    title = tr(f"pages_catalogue.figure.{name}")
    if name == "physical":
        return f"{title}: {_part(entry)}", str(value)
    return title, _shown(name, value)


def _part(entry: str) -> str:
    key = f"pages_catalogue.physical.{entry}"
    return tr(key) if has_text(key) else entry.replace("_", " ")


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return tr("pages_catalogue.yes" if value else "pages_catalogue.no")
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_bytes_per_s"):
        return f"{number(value / 1e9, 4)} GB/s"
    if name.endswith("_ratio"):
        return percent(value)
    if name == "tdp_w":
        return f"{number(value, 4)} W"
    if name == "price_money":
        return money(value, "USD")
    if name == "year":
        return str(value)
    if value == "none":
        return "–"
    return number(value, 6) if isinstance(value, int | float) else str(value)


def sources_numbered(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The distinct sources of rows, in order; each row is given the place of its own, from 1, as ``at``."""
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        row["at"] = places.setdefault((row["what"], row["url"]), len(places) + 1)
    return [
        {"what": what, "url": url if url.startswith(("https://", "http://")) else ""} for what, url in places
    ]


def grade(name: str) -> str:
    """How sure a source is, in words."""
    key = f"pages_catalogue.grade.{name}"
    return tr(key) if has_text(key) else name


def source(text: str) -> tuple[str, str]:
    """Where a figure is from, as its file says it, and how sure it is, in the language in use."""
    where, _, sure = text.rpartition(" · ")
    return (where, grade(sure)) if where and has_text(f"pages_catalogue.grade.{sure}") else (text, "")


def billions(value: float | None) -> str:
    """Parameters: ``70.6 B``; in Spanish thousands of millions."""
    if not value:
        return "–"
    return (
        tr("pages_catalogue.billions", count=number(value / 1e9))
        if value >= 1e9
        else tr("pages_catalogue.millions", count=number(value / 1e6))
    )


def fitted(one: dict[str, Any]) -> dict[str, Any]:
    """A row of ``fit`` as text, of whatever kind of model."""
    verdict = one["verdict"] if one["runs"] else "idle"
    room, longest = (
        one.get("headroom_gib"),
        one.get("largest_context_tokens") or one.get("largest_input_tokens"),
    )
    return {
        "model": one["model"],
        "gpu": one["gpu"],
        "count": number(one["gpus"], 6),
        "weights": one["weights"],
        "engine": one.get("engine") or one.get("framework") or "–",
        "verdict": verdict,
        "told": tr(f"pages_catalogue.fits.{verdict}"),
        "room": "–" if room is None else f"{number(room)} GiB",
        "context": number(longest, 6) if longest and longest > 0 else "–",
    }
