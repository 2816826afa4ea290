"""What classes of cards are for: the table of classes, and the leaders for a kind of work."""

from __future__ import annotations

from cabida import app, facts
from cabida.app.asking.asked import CARD, Asked, missing, name_of
from cabida.report.answered import Answer
from cabida.text import number, tr

OUTGROWN = ("old", "instinct-old")  # classes that engines have left or are leaving behind


def representatives() -> list[str]:
    """The first card of each class that current software still builds for."""
    made = []
    for row in facts.classes():
        if row["id"] in OUTGROWN:
            continue
        known = [one for one in row["members"] if one in facts.accelerators()]
        made += known[:1]
    return made


def by_work(asked: Asked, works: tuple[str, ...]) -> Answer:
    """Who leads in what decides each kind of work; the model is asked back."""
    ids = [card for card, _ in asked.cards] or representatives()
    found = app.compare(ids, asked.as_of or None)
    leaders = []
    for row in found["matters"]:
        if row["workload"] not in works:
            continue
        names = ", ".join(name_of(one) for one in row["best"])
        figure = tr(f"asking.matter.{row['figure'].replace('/', '_per_')}")
        asked.add(
            tr(f"asking.work.{row['workload']}"),
            "leads",
            f"{figure}: {names} ({number(row['value'])})",
            "text",
        )
        leaders.append(tr("asking.leads", figure=figure, names=names))
    asked.take("classes", ", ".join(ids), "--gpu")
    asked.command("compare " + " ".join(ids), {})
    asked.source(*(row["source"] for row in found["accelerators"][:3]))
    asked.notes.append(tr("asking.say_model"))
    told = "; ".join(dict.fromkeys(leaders))
    return asked.answer(tr("asking.best.by_work", leaders=told))


def what_for(asked: Asked) -> Answer:
    """What cards are for and what not, with what they have and cost."""
    if not asked.cards:
        raise missing(CARD)
    ids = [card for card, _ in asked.cards]
    found = app.compare(ids, asked.as_of or None)
    sentences = []
    for row in found["accelerators"]:
        asked.add(row["name"], "usable_gib", row["memory_gib"], "gib")
        asked.add(row["name"], "bandwidth", row["bandwidth_gb_s"], "count")
        asked.add(row["name"], "rent", row["rent_usd_per_hour"], "money", row["rent_seen"])
        asked.source(row["source"])
        if row["for"]:
            sentences.append(tr("asking.what_for", card=row["name"], use=row["for"], not_use=row["not_for"]))
    asked.command("compare " + " ".join(ids), {})
    return asked.answer(" ".join(sentences) or tr("asking.no_class", card=", ".join(ids)))
