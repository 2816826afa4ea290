"""A benchmark's plan run in the background: what of it a server may do, the run itself, and how it is stopped."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, InvalidInput
from cabida.text import problem

if TYPE_CHECKING:
    from cabida.bench.run.following import Now
    from cabida.evidence.shelf import KeptRun
    from cabida.plan.bench import BenchPlan, Target

KEY_NAME = "CABIDA_BENCH_KEY"  # of the environment of the one run whose key was typed
HELD = f"env:{KEY_NAME}"
NAMED = re.compile(r"env:CABIDA_BENCH_[A-Z0-9_]{1,80}")  # keys of the server that its people may name
PHASES = ("memory", "load", "search")
ASKED_AGAIN_S = 1.0  # whether somebody stopped it
MOST_REQUESTS = 100_000
ANSWER = "answer.json"


def plan_for_server(text: str) -> BenchPlan:
    """The plan in a text, when a server may run it: it starts no program and opens no file of the server's machine.

    Drills and training jobs are left out: they are for whoever sits at that machine.

    Raises:
        InvalidInput: faults of the plan; CB-S090, it asks for what a server doesn't do; CB-S091, nothing is left.
    """
    from cabida.bench.planned import parse_plan

    plan = parse_plan(text, file="plan.yaml")
    found = [name for name, said in _local(plan) if said]
    if found:
        raise InvalidInput([problem("CB-S090", name=name) for name in dict.fromkeys(found)])
    runs = tuple(one for one in plan.runs if one.phase in PHASES and one.job is None and not one.drills)
    if not runs:
        raise InvalidInput([problem("CB-S091", phases=", ".join(PHASES))])
    return replace(plan, runs=runs)


def _local(plan: BenchPlan) -> Iterator[tuple[str, Any]]:
    yield "prompts.file", plan.prompts.file
    for rule in plan.rules:
        yield f"rules.{rule.kind}", rule.kind in ("command", "judge")
    for contender in plan.contenders:
        for name in ("tokenizer", "log", "ca"):
            yield f"target.{name}", getattr(contender.target, name)
    for run in plan.runs:
        yield "load.trace", run.load.trace


def targets(plan: BenchPlan) -> list[Target]:
    """The endpoints that the plan's runs ask."""
    wanted = {one.candidate for one in plan.runs}
    return [one.target for one in plan.contenders if one.name in wanted]


def addresses(plan: BenchPlan) -> list[str]:
    """Every address that the plan's runs ask."""
    found = [url for one in targets(plan) for url in (one.url, one.metrics) if url]
    return list(dict.fromkeys(found))


def keys_named(plan: BenchPlan) -> list[str]:
    """Where the plan says its keys are."""
    found = [said for one in targets(plan) for said in (one.key, *one.headers.values())]
    return list(dict.fromkeys(one for one in found if one.startswith(("env:", "keyring:"))))


def with_key(plan: BenchPlan, key: str) -> BenchPlan:
    """The plan whose targets take the key from there; as it is where none is said."""
    if not key:
        return plan
    changed = (replace(one, target=replace(one.target, key=key)) for one in plan.contenders)
    return replace(plan, contenders=tuple(changed))


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """A typed key in the environment for as long as its run lasts."""
    if not key:
        yield
        return
    os.environ[KEY_NAME] = key
    try:
        yield
    finally:
        os.environ.pop(KEY_NAME, None)


def folder_of(id: str, store: str = "") -> Path:
    """Where a run's journal lies: beside the store's file, with a PostgreSQL store in the user's data folder."""
    from cabida.evidence.place import store_path
    from cabida.timing.own import own_path

    place = store_path(store or None)
    beside = place.parent if isinstance(place, Path) else own_path().parent
    return beside / "benchmarks" / id


def bench(asked: Mapping[str, Any], tell: Any) -> dict[str, Any]:
    """Run a kept benchmark; what it showed is kept as observations, its figures with the run.

    Args:
        asked: ``run`` (its id), ``key`` ("" or where the key is), ``most`` (requests), ``resume``,
            ``public_only`` (what is asked has to have a public address), ``language``.
        tell: of the progress.

    Returns:
        ``run``, its id, ``interrupted`` and ``stored``, ids of the new observations.

    Raises:
        InvalidInput: the plan can't be run. EndpointFailed: no run could be made.
    """
    from cabida import app
    from cabida.bench.wire.address import REACH
    from cabida.evidence import shelf

    id = str(asked.get("run") or "")
    kept = shelf.kept_run(id)
    folder = folder_of(id)
    plan = with_key(plan_for_server(kept.plan_text), str(asked.get("key") or ""))
    os.environ[REACH] = "public" if asked.get("public_only") else "private"
    told = _Told(id, tell)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shelf.change_run(id, state="running", was="waiting", folder=str(folder)).state != "running":
            return {"run": id, "interrupted": True, "stored": []}  # somebody stopped it before it began
        answer = app.bench_run(
            plan,
            out=folder,
            resume=bool(asked.get("resume")),
            yes=True,
            max_requests=int(asked.get("most") or 0) or plan.policy.requests_most or MOST_REQUESTS,
            told=told,
        )
    except OSError as error:
        shelf.change_run(id, state="failed")
        raise InvalidInput([problem("CB-S092", why=error.strerror or type(error).__name__)]) from None
    except CabidaError:
        shelf.change_run(id, state="failed")
        raise
    finally:
        os.environ.pop(REACH, None)
    _keep(kept, folder, answer)
    return {"run": id, "interrupted": bool(answer["interrupted"]), "stored": answer.get("stored", [])}


class _Told:
    """Tells how a run stands, and stops it once somebody wants that, as Ctrl-C does."""

    def __init__(self, id: str, tell: Any) -> None:
        self.id, self.tell = id, tell
        self.asked_s = time.monotonic()
        self.stopped = False

    def __call__(self, now: Now) -> None:
        if now.run:
            self.tell(now.run, now.ended_count, 0)
        if self.stopped or time.monotonic() - self.asked_s < ASKED_AGAIN_S:
            return
        self.asked_s = time.monotonic()
        from cabida.evidence import shelf

        if shelf.kept_run(self.id).state == "cancelled":
            self.stopped = True
            raise KeyboardInterrupt


def _keep(kept: KeptRun, folder: Path, answer: dict[str, Any]) -> None:
    """The figures that lists show with the run, and the whole answer beside its journal."""
    from cabida.evidence import shelf
    from cabida.report.metrics import plain

    text = json.dumps(plain(answer), ensure_ascii=False, allow_nan=False)
    (folder / ANSWER).write_text(text, encoding="utf-8")
    requests = sum(one["all_requests_count"] for one in (row["summary"] for row in answer["runs"]))
    summary = {
        "runs_count": len([one for one in answer["runs"] if not one["point_of"]]),
        "requests_count": requests,
        "stored_count": len(answer.get("stored", [])),
        "problems": answer.get("problems", []),
    }
    state = "cancelled" if answer["interrupted"] else "failed" if answer.get("problems") else "done"
    shelf.change_run(kept.id, state=state, summary=summary)
