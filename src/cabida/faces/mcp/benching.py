"""Tools around measurements: what to measure, what was measured, and measuring, where that is allowed."""

from __future__ import annotations

from typing import Any

from cabida.errors import InvalidInput
from cabida.faces.mcp.args import LONG_CHARS, Arg
from cabida.faces.mcp.commanded import tool_of
from cabida.faces.mcp.given import brief_of, decision_of, path_of
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.text import duration, problem, tr

MOST_FILES = 50
RISKY_RULES = ("command",)
QUIET_PHASES = ("memory", "load", "search", "training")  # a drill breaks what it measures


def _plan_files(asked: Asked) -> dict[str, tuple[str, bytes]]:
    from cabida.report.store import to_json

    if "decision" in asked.said:
        return {"": ("decision.json", to_json(decision_of(asked)).encode())}
    if "brief" in asked.said:
        return {"": ("brief.yaml", brief_of(asked)[0].encode())}
    return {}


def _planned(data: Any) -> str:
    return tr("mcp.say.bench_plan", count=len(data["plan"]["runs"]), time=duration(data["duration_s"]))


def _plan_shown(data: Any) -> dict[str, Any]:
    runs = [
        {name: one.get(name) for name in ("name", "phase", "duration_s", "why")}
        for one in data["plan"]["runs"]
    ]
    kept = ("duration_s", "cost_money", "currency")
    return {name: data[name] for name in kept} | {"runs": runs, "text": data["text"]}


def _folders(asked: Asked) -> list[Any]:
    return [path_of(asked.place, one) for one in asked.said["folders"]]


def _report(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    answer = app.bench_report(_folders(asked), store=asked.store)
    return _reported(plain(answer))


def _reported(answer: dict[str, Any]) -> Told:
    return Told(answer, str(answer.get("answer") or tr("mcp.say.bench", count=len(answer.get("runs", ())))))


def _run(asked: Asked) -> Told:
    from cabida import app
    from cabida.bench.planned import read_plan
    from cabida.bench.planned.read import parse_plan
    from cabida.report.metrics import plain

    said = str(asked.said["plan"])
    read = parse_plan(said) if "\n" in said else read_plan(path_of(asked.place, said))
    if any(one.kind in RISKY_RULES for one in read.rules):
        raise InvalidInput([problem("CB-O011")])
    answer = app.bench_run(
        read, out=path_of(asked.place, asked.get("out", f"bench-{read.name}".replace("/", "-"))),
        phases=QUIET_PHASES, yes=asked.place.elsewhere, dry_run=bool(asked.get("dry_run")), store=asked.store,
        max_requests=asked.get("max_requests"),
    )  # fmt: skip
    return _reported(plain(answer))


def _observe(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    said = asked.only("model", "gpu")
    answer = app.observe(
        [path_of(asked.place, one) for one in asked.said["files"]], keep=False, store=asked.store, **said
    )
    return Told(plain(answer), tr("mcp.say.rows", count=len(answer["files"])))


def _validate(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    answer = app.validate([path_of(asked.place, one) for one in asked.said["files"]], progress=asked.progress)
    return Told(plain(answer), tr("mcp.say.answered"))


def _traffic(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    answer = app.traffic(
        [path_of(asked.place, one) for one in asked.said["files"]], models=asked.get("models", ()),
        timezone=asked.get("timezone", ""), progress=asked.progress,
    )  # fmt: skip
    return Told(plain(answer), tr("mcp.say.answered"))


def _track(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    answer = app.track(
        decision_of(asked), [path_of(asked.place, one) for one in asked.said["files"]], store=asked.store,
        **asked.only("option", "month", "accepted", "requests", "currency"),
    )  # fmt: skip
    return Told(plain(answer), tr("mcp.say.answered"))


def _observations(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    rows = plain(app.observations(store=asked.store))
    return Told({"rows": rows, "rows_count": len(rows)}, tr("mcp.say.rows", count=len(rows)))


def _calibration(asked: Asked) -> Told:
    from cabida import app
    from cabida.report.metrics import plain

    return Told(plain(app.calibration()), tr("mcp.say.answered"))


FILES = Arg("files", "strings", needed=True, most=MOST_FILES)
TOOLS = (
    tool_of(
        "bench_plan", "bench plan", "options target api precision", _planned, brief=_plan_shown,
        gives="text:string plan:object runs:array duration_s:number", left_out="source", files=_plan_files,
        beside=(Arg("decision"), Arg("brief", most=LONG_CHARS)), long=True,
    ),
    Tool(
        "bench_report", _report, (Arg("folders", "strings", needed=True, most=20),), {"runs": "array"},
        ("bench_report",), here=True,
    ),
    Tool(
        "bench_run", _run,
        (
            Arg("plan", needed=True, most=LONG_CHARS), Arg("out"), Arg("dry_run", "boolean"),
            Arg("max_requests", "integer", low=1, high=10**9),
        ),
        {"runs": "array"}, ("bench_run",), changes=True, reaches=True, here=True, long=True,
    ),
    Tool("observations", _observations, (), {"rows": "array", "rows_count": "integer"}, ("observations",)),
    Tool("calibration", _calibration, (), {}, ("calibration",)),
    Tool("observe", _observe, (FILES, Arg("model"), Arg("gpu")), {"files": "array"}, ("observe",), here=True),
    Tool("validate", _validate, (FILES,), {}, ("validate",), here=True, long=True),
    Tool("traffic", _traffic, (FILES, Arg("models", "strings"), Arg("timezone")), {}, ("traffic",), here=True),
    Tool(
        "track", _track,
        (
            Arg("decision", needed=True), FILES, Arg("option"), Arg("month"), Arg("accepted", "number", low=0),
            Arg("requests", "number", low=0), Arg("currency"),
        ),
        {}, ("track",), here=True,
    ),
)  # fmt: skip
