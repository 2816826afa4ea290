"""Whether a candidate's software goes together on its accelerator, what to do first, and the lines that install it."""

from __future__ import annotations

from functools import lru_cache

from cabida import facts
from cabida.checks.install import install
from cabida.checks.sentences import caution
from cabida.checks.software import GGUF_ENGINES, runnable, trainable
from cabida.checks.stack_builds import chip
from cabida.checks.stack_parts import Place, part_at
from cabida.checks.verdict import Verdict
from cabida.facts.model import Accelerator
from cabida.facts.releases import numbers, releases
from cabida.plan import Compatibility, Deployment, TrainingRun
from cabida.text import locale, tr

RECENT_CUDA = (12, 8)  # chips that need at least this are newer than many installed drivers


def compatibility(what: Deployment | TrainingRun | None, as_of: str = "") -> Compatibility | None:
    """Of a deployment or a training run; ``None`` of an API, and of an engine the software facts don't speak of.

    Args:
        what: the candidate's deployment or run.
        as_of: ISO date; releases that came later are not installed.

    Raises:
        InvalidInput: CB-F001, the engine is unknown.
    """
    if what is None or _engine(what) not in facts.engines():
        return None
    if isinstance(what, Deployment):
        verdict, version = runnable(what), what.engine_version
        several = what.parallel.accelerators_count > 1
    else:
        verdict, version = trainable(what), what.framework_version
        several = what.accelerators_count > 1
    return _told(
        verdict, _engine(what), version, what.accelerator.id, several=several, as_of=as_of, spoken=locale()
    )


def _engine(what: Deployment | TrainingRun) -> str:
    return what.engine if isinstance(what, Deployment) else what.framework or "trl"


@lru_cache(maxsize=4096)
def _told(
    verdict: Verdict, engine: str, version: str, card_id: str, *, several: bool, as_of: str, spoken: str
) -> Compatibility:
    card = facts.accelerator(card_id)
    found = install(engine, version, card, as_of)
    steps = [verdict.sentence] if verdict.state != "runs" else []
    between = _between(card) if several else ""
    steps += [*_driver(card), *([between] if between else []), *_release_steps(engine, version, as_of)]
    if not found.lines:
        steps.append(tr("checks.no_install", engine=facts.engine(engine).name))
    state = "steps" if verdict.state == "runs" and between else verdict.state
    source = " | ".join(dict.fromkeys(one for one in (verdict.source, found.source) if one))
    seen = max(facts.engine(engine).source.seen, found.seen)
    return Compatibility(state, tuple(dict.fromkeys(steps)), found.lines, source, seen)


def _driver(card: Accelerator) -> list[str]:
    """The least driver and toolkit of a chip that old ones don't know."""
    row = chip(card)
    first, cuda = row.get("first_driver", ""), row.get("first_cuda", "")
    if not first or numbers(cuda) < RECENT_CUDA:
        return []
    return [tr("checks.step_driver", name=card.name, driver=first, cuda=cuda)]


def _between(card: Accelerator) -> str:
    """What to know where several cards don't read each other's memory; "" where they do."""
    peer = part_at("peer", Place(card))
    return (
        tr(f"checks.part.{peer.says}", part="P2P", at=card.name, near=peer.near) if peer and peer.says else ""
    )


def _release_steps(engine: str, version: str, as_of: str) -> list[str]:
    """A version that is newer than what is known, or that is no release anybody can install."""
    known = releases(engine, as_of)
    if not known or engine in GGUF_ENGINES or not numbers(version):
        return []
    if numbers(version) > numbers(known[-1].version):
        values = {"name": facts.engine(engine).name, "version": version, "taken": known[-1].version}
        return [caution("CB-K217", "info", **values).sentence]
    return []
