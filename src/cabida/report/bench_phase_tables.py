"""The tables of drills, of the steps of a ramp, and of what was watched meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cabida import text
from cabida.bench.watch.told import verdict_words
from cabida.report import bench_words as say
from cabida.report.money_parts import Table
from cabida.text import has_text, tr

BESIDE_MOST = 4  # drills that stand beside each other in one table
STRETCHES = ("before", "during", "after")
Judged = dict[str, Any]


def drills(one: dict[str, Any]) -> list[Table]:
    """What each drill cost, a column each; drills of a job's checkpoints apart, as nobody asks it anything."""
    asked = [each for each in one["drills"] if each["drilled"]["kind"] != "checkpoint"]
    jobs = [each for each in one["drills"] if each["drilled"]["kind"] == "checkpoint"]
    survived = {str(row.get("drill")): row for row in one["survived"]}
    found = []
    for at in range(0, len(asked), BESIDE_MOST):
        several = asked[at : at + BESIDE_MOST]
        rows = [(tr(f"report.bench_{key}"), *map(cell, several)) for key, cell in _CELLS]
        rows += [
            (tr(f"report.bench_{key}"), *(_outlived(survived.get(say.drill(each)), key) for each in several))
            for key in ("metrics_same", "labels_same")
        ]
        found.append(_sheet(several, rows))
    if jobs:
        found.append(
            _sheet(jobs, [(tr(f"report.bench_{key}"), *map(cell, jobs)) for key, cell in _JOB_CELLS])
        )
    return found


def _sheet(several: list[Judged], rows: list[tuple[str, ...]]) -> Table:
    known = [row for row in rows if any(cell != say.UNKNOWN for cell in row[1:])]
    header = (tr("report.bench_table.drills"), *map(say.drill, several))
    return Table("", header, tuple(known))


def _verdict(each: Judged) -> str:
    return tr(f"report.bench_drill.{each['verdict']}")


def _took(value: float | None) -> str:
    return say.UNKNOWN if value is None else say.lasted(value)


def _three(key: str) -> Callable[[Judged], str]:
    """A latency before, during and after."""

    def cell(each: Judged) -> str:
        values = [each["recovery"][stretch][key] for stretch in STRETCHES]
        return say.UNKNOWN if not any(values) else " / ".join(map(_took, values))

    return cell


def _failed(each: Judged) -> str:
    its = each["recovery"]
    return " / ".join(
        f"{say.count(its[stretch]['failed_count'])}/{say.count(its[stretch]['requests_count'])}"
        for stretch in STRETCHES
    )


def _figure(key: str) -> Callable[[Judged], str]:
    return lambda each: say.count(each["recovery"][key])


def _undelivered(each: Judged) -> str:
    """Tokens that the endpoint wrote and nobody got."""
    its = each["recovery"]
    paid, delivered, uncounted = its["paid_tokens"], its["delivered_tokens"], its["lost_uncounted_count"]
    if paid is None or delivered is None or (uncounted and paid <= delivered):
        return say.UNKNOWN
    told = say.count(max(0, paid - delivered))
    return tr("report.bench_at_least", count=told) if uncounted else told


def _budget(each: Judged) -> str:
    used = each["recovery"]["budget_used_ratio"]
    return say.UNKNOWN if used is None else text.percent(used)


def _early(each: Judged) -> str:
    its = each["recovery"]
    early_s = its["ready_early_s"]
    if not early_s:
        return say.UNKNOWN if early_s is None else tr("report.bench_no")
    return tr(
        "report.bench_early_by", took=say.lasted(early_s), count=say.count(its["failed_after_ready_count"])
    )


def _metrics(each: Judged) -> str:
    its = each["recovery"]
    if its["metrics_after"] is None:
        return say.UNKNOWN
    if not its["metrics_after"]:
        return tr("report.bench_no")
    return tr("report.bench_yes_gap", gap=_took(its["metrics_gap_s"]))


def _log(each: Judged) -> str:
    return _whether(each["recovery"]["log_after"])


def _whether(value: object) -> str:
    return say.UNKNOWN if value is None else tr("report.bench_yes" if value else "report.bench_no")


def _outlived(row: dict[str, Any] | None, key: str) -> str:
    if row is None:
        return say.UNKNOWN
    return _whether(row.get("metrics" if key == "metrics_same" else "labels"))


def _detail(key: str, shown: Callable[[Any], str]) -> Callable[[Judged], str]:
    def cell(each: Judged) -> str:
        value = each["drilled"]["details"].get(key)
        return shown(value) if isinstance(value, int | float) else say.UNKNOWN

    return cell


_CELLS: tuple[tuple[str, Callable[[Judged], str]], ...] = (
    ("verdict", _verdict),
    ("recovery", lambda each: _took(each["recovery"]["recovery_s"])),
    ("three_p50", _three("p50_s")),
    ("three_p95", _three("p95_s")),
    ("three_failed", _failed),
    ("lost", _figure("lost_count")),
    ("lost_in_flight", _figure("lost_in_flight_count")),
    ("truncated", _figure("truncated_count")),
    ("refused_count", _figure("refused_count")),
    ("tokens_lost", _figure("lost_tokens")),
    ("undelivered", _undelivered),
    ("budget", _budget),
    ("ready_early", _early),
    ("metrics_there", _metrics),
    ("log_there", _log),
)
_JOB_CELLS: tuple[tuple[str, Callable[[Judged], str]], ...] = (
    ("verdict", _verdict),
    ("resumed_after", _detail("resume_s", _took)),
    ("regained", _detail("regained_s", _took)),
    ("steps_lost", _detail("steps_lost", say.count)),
    ("checkpoint_after", _detail("checkpoint_after_s", _took)),
    ("checkpoint_step", _detail("checkpoint_step", say.count)),
    ("killed_step", _detail("killed_step", say.count)),
    ("resumed_step", _detail("resumed_step", say.count)),
)


def reasons(one: dict[str, Any]) -> list[str]:
    """The verdict of each drill with its reason, a sentence each."""
    return [
        tr("report.bench_drill_why", drill=say.drill(each), verdict=_verdict(each), why=each["why"])
        for each in one["drills"]
    ]


def steps(one: dict[str, Any]) -> Table:
    """The steps of a ramp to the edge of memory."""
    keys = ("context", "at_once", "verdict", "held", "kv_used", "queued", "preempted")
    rows = []
    for step in one["steps"]:
        used, verdict = step.get("kv_used_ratio_most"), str(step.get("verdict") or "")
        rows.append(
            (
                say.count(step.get("context_tokens")),
                say.count(step.get("concurrency")),
                say.verdict(verdict) if verdict == "ok" else verdict_words(verdict),
                say.count(step.get("held_tokens")),
                say.UNKNOWN if used is None else text.percent(used),
                say.count(step.get("waiting_most")),
                say.count(step.get("preemptions_count")),
            )
        )
    header = tuple(tr(f"report.bench_{key}") for key in keys)
    return Table(tr("report.bench_table.steps"), header, tuple(rows))


def watched(one: dict[str, Any]) -> Table:
    """What was watched, over the window: mean and most of gauges, increase of counters, energy, throttling."""
    found = one["watched"] or {}
    rows: list[tuple[str, str, str]] = []

    def row(name: str, mean: str, most: str, **values: str) -> None:
        rows.append((tr(f"report.bench_watch.{name}", **values), mean, most))

    for name, gauge in found.get("figures", {}).items():
        if has_text(f"report.bench_watch.{name}"):
            shown = text.percent if name.endswith("_ratio") else text.number
            row(name, shown(gauge["mean"]), shown(gauge["most"]))
    for name, value in found.get("increases", {}).items():
        if has_text(f"report.bench_watch.{name}"):
            row(name, "", text.number(value, 6))
    restarts = (found.get("events") or {}).get("server-restarted")
    if restarts or (found.get("facts") or {}).get("engine"):
        row("restarts", "", say.count(restarts or 0))
    if found.get("prefix_hit_ratio") is not None:
        row("prefix_hit_ratio", text.percent(found["prefix_hit_ratio"]), "")
    for name, value in (found.get("memory_most_bytes") or {}).items():
        row("memory", "", text.size(value), card=name)
    if found.get("power_mean_w") is not None:
        row("power", f"{text.number(found['power_mean_w'])} W", "")
    if found.get("energy_j") is not None:
        row("energy", "", f"{text.number(found['energy_j'] / 3600)} Wh")
    for name in ("energy_j_per_output_token", "energy_j_per_accepted"):
        if found.get(name) is not None:
            row(name, f"{text.number(found[name])} J", "")
    for name, ratio in (found.get("slowed_ratio") or {}).items():
        card, _, reason = str(name).rpartition(".")
        key = f"watch.reason.{reason.replace('-', '_')}"
        row("slowed", text.percent(ratio), "", card=card, reason=tr(key) if has_text(key) else reason)
    header = tuple(tr(f"report.bench_{key}") for key in ("watched", "mean", "most"))
    return Table(tr("report.bench_table.watched"), header, tuple(rows))
