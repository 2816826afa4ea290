"""Tools that decide, and that ask a decision: recommend, what_if, explain, record and the like."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from cabida.faces.mcp.args import AS_OF, LONG_CHARS, SEED, Arg
from cabida.faces.mcp.given import brief_file, brief_of, decision_of
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.text import language, speaking, tr

if TYPE_CHECKING:
    from cabida.plan import Decision, Option

BRIEF = Arg("brief", needed=True, most=LONG_CHARS)
ASSUME = Arg("assume", "boolean")
DECISION = Arg("decision", needed=True)
CHANGES = Arg("changes", "map")
METRICS = (
    "ttft_ms_p95", "tpot_ms_p95", "itl_ms_p95", "e2e_ms_p95", "req_s", "capacity_req_s", "output_tok_s",
    "tokens_s_per_gpu", "step_time_s", "duration_h",
)  # fmt: skip
FIRST_OPTIONS, FIRST_WARNINGS = 4, 5


def option_row(one: Option) -> dict[str, Any]:
    """What is worth knowing of an option at first sight; ``[value, low, high]`` where there is an interval."""
    shown = {name: one.metrics[name] for name in METRICS if name in one.metrics}
    return {
        "rank": one.rank,
        "title": one.title,
        "status": one.status,
        "unit_cost_money": [one.unit_cost.value, one.unit_cost.low, one.unit_cost.high],
        "cost_per_month_money": one.cost_per_month_money,
        "best_probability": one.best_probability,
        "price_seen": one.price_seen,
        "metrics": {name: [each.value, each.low, each.high] for name, each in shown.items()},
        "reasons": list(one.reasons),
    }


def first_of(decision: Decision, id: str) -> dict[str, Any]:
    """What of a decision is shown first: the answer, the options, how sure, what would change it, what to do."""
    return {
        "decision": id,
        "name": decision.name,
        "workload": decision.workload,
        "verdict": decision.verdict,
        "answer": decision.answer,
        "as_of": decision.as_of,
        "currency": decision.currency,
        "denominator": decision.denominator,
        "candidates_count": decision.candidates_count,
        "options": [option_row(one) for one in decision.options],
        "flips": [one.sentence for one in decision.flips],
        "warnings": [f"{one.severity}: {one.sentence}" for one in decision.warnings][:FIRST_WARNINGS],
        "assumptions": [f"{one.name} = {one.value} ({one.grade})" for one in decision.assumptions],
        "measure_first": [f"{one.what} {one.decides}" for one in decision.measurements][:2],
        "ruled_out": [f"{one.count}: {one.sentence}" for one in decision.rejections],
    }


def decided(asked: Asked, decision: Decision) -> Told:
    """A decision held for whoever asked, and what is told of it."""
    from cabida.report.store import to_dict

    id = asked.place.held.add(asked.person, decision)
    with speaking(decision.language):
        say = tr("mcp.say.decided", answer=decision.answer, id=id)
    links = {f"cabida://decisions/{id}": id, f"cabida://decisions/{id}/record": tr("mcp.record_of", id=id)}
    return Told({"decision": id} | to_dict(decision), say, first_of(decision, id), links)


def _recommend(asked: Asked) -> Told:
    from cabida.app.deciding import decided as made
    from cabida.brief.read import parse_brief
    from cabida.evidence import book
    from cabida.facts.known import as_known
    from cabida.text import iso_day

    text, file = brief_of(asked)
    day = iso_day(asked.get("as_of", "")) or date.today().isoformat()
    flags = {"assume": False, "all": False, "scenarios": 0} | asked.only("assume", "all", "scenarios")
    with as_known(day):
        read = parse_brief(text, file=file, as_of=day, sellers=book.sellers)
        decision = made(read, day, flags, seed=asked.get("seed", 0), progress=asked.progress)
    return decided(asked, decision)


def _check(asked: Asked) -> Told:
    from cabida import app

    found = app.check(brief_file(asked), assume=bool(asked.get("assume")), as_of=asked.get("as_of", ""))
    rows = [asdict(one) for one in found]
    say = tr("mcp.say.checked", count=len(rows)) if rows else tr("mcp.say.sound")
    return Told({"found": rows}, say)


def _template(asked: Asked) -> Told:
    from cabida import app

    text = app.init(
        asked.get("workload", "realtime-inference"),
        language=language(),
        from_example=asked.get("example", ""),
    )
    return Told({"text": text}, tr("mcp.say.template"))


def _decision(asked: Asked) -> Told:
    return decided(asked, decision_of(asked))


def _what_if(asked: Asked) -> Told:
    from cabida import app

    before = decision_of(asked)
    after = app.what_if(before, asked.said["changes"])
    told = decided(asked, after)
    was, now = (one.options[0].title if one.options else "–" for one in (before, after))
    with speaking(after.language):
        key = "mcp.say.stays" if was == now else "mcp.say.changes"
        say = tr(key, now=now, was=was) + " " + told.say
    return Told(told.data, say, {"winner_before": was, "winner_after": now} | (told.brief or {}), told.links)


def _levers(asked: Asked) -> Told:
    from cabida import app

    rows = [asdict(one) for one in app.levers(decision_of(asked))]
    shown = [
        {name: row[name] for name in ("name", "title", "unit", "value", "low", "high", "locked", "why")}
        for row in rows
    ]
    return Told({"levers": rows}, tr("mcp.say.levers", count=len(rows)), {"levers": shown})


def _explain(asked: Asked) -> Told:
    from cabida import app

    decision = decision_of(asked)
    if "name" not in asked.said:
        names = sorted({node["name"] for node in decision.trees})
        chosen = sorted(decision.options[0].trees) if decision.options else []
        say = tr("mcp.say.figures", count=len(names))
        return Told({"figures_of_first": chosen, "figures": names}, say)
    nodes = app.explain(decision, asked.said["name"], asked.get("changes"))
    first = nodes[0]
    say = tr("mcp.say.explained", name=first["name"], count=len(nodes))
    shown = [
        {
            name: node.get(name)
            for name in ("id", "name", "value", "unit", "equation", "inputs", "grade", "low", "high")
        }
        | {"source": _source(node.get("source"))}
        for node in nodes
    ]
    return Told({"nodes": nodes}, say, {"nodes": shown})


def _source(source: Any) -> str:
    if not isinstance(source, dict):
        return str(source or "")
    return " · ".join(str(source[name]) for name in ("what", "url", "seen") if source.get(name))


def _record(asked: Asked) -> Told:
    from cabida import app

    decision = decision_of(asked)
    text = str(app.record(decision, "md", asked.get("changes")))
    id = asked.place.held.add(asked.person, decision)
    links = {f"cabida://decisions/{id}/record": tr("mcp.record_of", id=id)}
    return Told({"text": text, "lines_count": len(text.splitlines())}, tr("mcp.say.record"), links=links)


def _rerun(asked: Asked) -> Told:
    from cabida.app import rerunning

    made = rerunning.rerun(
        decision_of(asked), same=bool(asked.get("same")), as_of=asked.get("as_of"), progress=asked.progress
    )
    id = asked.place.held.add(asked.person, made.decision)
    said = _differs(made.difference)
    return Told({"decision": id} | rerunning.plain(made), said, links={f"cabida://decisions/{id}": id})


def _differs(difference: Any) -> str:
    return tr("mcp.say.winner_changed" if difference.winner_changed else "mcp.say.winner_stays")


def _diff(asked: Asked) -> Told:
    from cabida import app

    found = app.diff(decision_of(asked, "before"), decision_of(asked, "after"))
    return Told(asdict(found), _differs(found))


def _launch(asked: Asked) -> Told:
    from cabida import app

    files = app.launch_files(
        decision_of(asked), option=asked.get("option", ""), form=asked.get("form", "all")
    )
    rows = [
        {"name": name, "lines_count": len(text.splitlines()), "text": text} for name, text in files.items()
    ]
    say = tr("mcp.say.files", names=", ".join(files))
    if len(rows) == 1:
        return Told({"files": rows}, say)
    shown = [{"name": row["name"], "lines_count": row["lines_count"]} for row in rows]
    return Told({"files": rows}, f"{say} {tr('mcp.say.one_file')}", {"files": shown})


def _mix(asked: Asked) -> Told:
    from cabida import app

    answer = app.mix(
        brief_file(asked), types=asked.get("types", ()), scenarios=asked.get("scenarios", 0),
        assume=bool(asked.get("assume")), as_of=asked.get("as_of"), seed=asked.get("seed", 0),
        progress=asked.progress,
    )  # fmt: skip
    return Told(answer, tr("mcp.say.mix", name=answer["name"], currency=answer["currency"]))


def _keep(asked: Asked) -> Told:
    from cabida import app

    id = app.keep_decision(decision_of(asked), by=asked.person, store=asked.store).id
    return Told({"decision": id}, tr("mcp.say.kept", id=id), links={f"cabida://decisions/{id}": id})


OPTIONS = {
    "options": "array",
    "answer": "string",
    "decision": "string",
    "verdict": "string",
    "currency": "string",
}
SCENARIOS = Arg("scenarios", "integer", low=0, high=1000)
TOOLS = (
    Tool(
        "recommend", _recommend, (BRIEF, ASSUME, AS_OF, SEED, Arg("all", "boolean"), SCENARIOS), OPTIONS,
        ("recommend", "load_brief"), long=True,
    ),
    Tool("check", _check, (BRIEF, ASSUME, AS_OF), {"found": "array"}, ("check",)),
    Tool(
        "brief_template", _template, (Arg("workload"), Arg("example")), {"text": "string"}, ("init",),
    ),
    Tool("decision", _decision, (DECISION,), OPTIONS, ("load_decision",)),
    Tool(
        "what_if", _what_if, (DECISION, Arg("changes", "map", needed=True)),
        {"winner_before": "string", "winner_after": "string", **OPTIONS}, ("what_if",),
    ),
    Tool("levers", _levers, (DECISION,), {"levers": "array"}, ("levers",)),
    Tool(
        "explain", _explain, (DECISION, Arg("name", said="figure"), CHANGES), {"nodes": "array", "figures": "array"},
        ("explain",),
    ),
    Tool("record", _record, (DECISION, CHANGES), {"text": "string", "lines_count": "integer"}, ("record",)),
    Tool(
        "rerun", _rerun, (DECISION, Arg("same", "boolean"), AS_OF), {"decision": "string", "winner_changed": "boolean"},
        ("rerun",), long=True,
    ),
    Tool(
        "diff", _diff, (Arg("before", needed=True, said="decision"), Arg("after", needed=True, said="decision")),
        {"winner_changed": "boolean"}, ("diff",),
    ),
    Tool(
        "launch_files", _launch, (DECISION, Arg("option"), Arg("form", said="launch_form")), {"files": "array"},
        ("launch_files",),
    ),
    Tool(
        "mix", _mix, (BRIEF, Arg("types", "strings", most=20), SCENARIOS, ASSUME, AS_OF, SEED),
        {"name": "string", "mix": "object"}, ("mix",), long=True,
    ),
    Tool("decision_keep", _keep, (DECISION,), {"decision": "string"}, ("keep_decision",), changes=True),
)  # fmt: skip
