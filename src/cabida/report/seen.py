"""What the store has seen of a deployment that somebody asks about; without a store, one look at the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.place import store_path
from cabida.plan import Deployment

MOST = 5


def seen(d: Deployment) -> list[dict[str, Any]]:
    """Observations of a deployment like this one beside their predictions, the newest first."""
    try:
        place = store_path()
        if isinstance(place, Path) and not place.is_file():
            return []
    except InvalidInput:  # no place for one: commands about the store say why
        return []
    from cabida.evidence import alike
    from cabida.report.observed import told

    return [told(one) for one in alike(d)[:MOST]]
