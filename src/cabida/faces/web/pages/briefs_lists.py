"""What a field suggests while it is filled in: models, accelerators, providers, formats, engines, places."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cabida.text import number, speaking, tr

ZONES = ("Europe/Madrid", "America/Mexico_City", "UTC")


@lru_cache(maxsize=4)
def suggestions(language: str) -> dict[str, list[tuple[str, str]]]:
    """List -> (what is written in the brief, what it is), in a language."""
    with speaking(language):
        return _suggested()


def _suggested() -> dict[str, list[tuple[str, str]]]:
    from cabida import app, facts
    from cabida.brief.kinds import COUNTRIES, CURRENCIES, PROFILES, REGIONS
    from cabida.faces.web.pages.briefs_form import model_note

    models = [(one["id"], model_note(one)) for one in sorted(app.models(), key=lambda one: one["id"].lower())]
    images = [(id, tr(f"brief.task.{one.task}")) for id, one in facts.pipelines().items()]
    cards: Any = facts.accelerators()
    offered = {one.provider for one in facts.offers()} | {one.provider for one in facts.api_offers()}
    return {
        "models": models + [one for one in images if one[0] not in {id for id, _ in models}],
        "accelerators": [
            (one.id, f"{one.name} · {number(one.usable_bytes / 2**30)} GiB") for one in cards.values()
        ],
        "providers": [(one, "") for one in sorted(offered, key=str.lower)],
        "formats": [(one, "") for one in facts.formats()],
        "engines": [(one.id, one.name) for one in facts.engines().values()],
        "places": [(one, "") for one in ("any", "own-premises", *REGIONS, *COUNTRIES)],
        "profiles": [(f"{one} {zone}", "") for one in PROFILES for zone in ZONES if one != "flat"]
        + [("flat", "")],
        "currencies": [(one, "") for one in CURRENCIES],
    }
