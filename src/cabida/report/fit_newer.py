"""An engine newer than any we know: taken as the latest that we do, with a wider interval, and said."""

from __future__ import annotations

import re
from dataclasses import replace

from cabida import facts, memory
from cabida.checks.sentences import caution
from cabida.facts.releases import numbers
from cabida.memory.engines import ROWS, rules
from cabida.plan import Caution, Deployment, Estimate
from cabida.report.metrics import GIB

# no builds by number, no dates: llama.cpp makes several builds a day
RELEASE = re.compile(r"v?\d{1,6}(\.\d{1,6})+[\w.+-]{0,40}")
STEPS_COUNT = 3  # changes of an engine's ways that the next one is taken to be as large as


def newest_known(d: Deployment) -> str:
    """The latest release known of the engine where ``d`` asks for a newer one; else empty."""
    asked = d.engine_version.strip()
    if not RELEASE.fullmatch(asked):
        return ""
    latest = max(
        (one for one in facts.engine(d.engine).versions if RELEASE.fullmatch(one)), key=numbers, default=""
    )
    return latest if latest and numbers(asked) > numbers(latest) else ""


def newer(d: Deployment) -> list[Caution]:
    """What to know where ``d`` asks for a release newer than any known."""
    latest = newest_known(d)
    named = {"engine": d.engine, "version": d.engine_version.strip(), "latest": latest}
    return [caution("CB-K102", **named)] if latest else []


def widened(margin_gib: Estimate, d: Deployment) -> Estimate:
    """The interval of the margin, wider by what the engine's last changes of ways came to for this deployment."""
    row = rules(d.engine, d.engine_version)
    before = [".".join(map(str, one.since)) for one in ROWS if one.engine == row.engine][
        -STEPS_COUNT - 1 : -1
    ]
    spare = [memory.serving(replace(d, engine_version=one)).headroom_bytes / GIB for one in before]
    apart = max((abs(one - margin_gib.value) for one in spare), default=0.0)
    return replace(margin_gib, low=margin_gib.low - apart, high=margin_gib.high + apart)
