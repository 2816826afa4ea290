"""Metrics pages of engines and accelerators, read into names of our own; pure: text in, figures out.

``read_page(text)`` gives a :class:`Page`; ``Increases`` follows counters over restarts; ``between`` tells what happened
between two pages. ``names.json`` holds which metric of which engine is which of ours, with its source.
"""

from cabida.evidence.pages.growing import Increases, between, prefix_hit_ratio
from cabida.evidence.pages.page import Page, Series, labels_of, read_page
from cabida.evidence.pages.table import Ours, engine_title, ours

__all__ = [
    "Increases",
    "Ours",
    "Page",
    "Series",
    "between",
    "engine_title",
    "labels_of",
    "ours",
    "prefix_hit_ratio",
    "read_page",
]
