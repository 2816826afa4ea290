"""Tools that ask about one thing: does it fit, how fast, what does it cost, own or rent, and questions in words."""

from __future__ import annotations

from typing import Any

from cabida.faces.mcp.args import LONG_CHARS, Arg
from cabida.faces.mcp.commanded import picked, tool_of, without
from cabida.faces.mcp.given import brief_of, decision_of
from cabida.faces.mcp.tool import Asked
from cabida.text import has_text, money, number, tr

SETUP = "gpus tp weights kv_cache engine max_model_len"
LATENCIES = ("ttft_ms_p95", "tpot_ms_p95", "itl_ms_p95", "e2e_ms_p95", "req_s", "output_tok_s")
FIT_COLUMNS = "model gpu gpus weights engine verdict headroom_gib largest_context_tokens cure"
NOT_OF_FIT = (
    "intervals_gib",
    "parts_gib",
    "mig",
    "observed",
    "state_slots",
    "cache_is_pool",
    "starved",
    "crowded",
)
COST_COLUMNS = "provider capacity region seen accelerators price_money_per_hour cost_per_month_money metrics"


def _verdict(word: Any) -> str:
    key = f"mcp.verdict.{word}"
    return tr(key) if has_text(key) else str(word)


def _fit_said(data: Any) -> str:
    if "rows" in data:
        return tr("mcp.say.fits_rows", count=len(data["rows"]))
    if "headroom_gib" not in data:
        return tr("mcp.say.answered")
    spare = data["headroom_gib"]
    return tr(
        "mcp.say.fit", model=data["model"], gpu=data["gpu"], count=data["gpus"], verdict=_verdict(data["verdict"]),
        spare=number(spare) if spare is not None else "?",
    )  # fmt: skip


def _fit_shown(data: Any) -> dict[str, Any]:
    if "rows" in data:
        return picked("rows", FIT_COLUMNS)(data)
    return without(*NOT_OF_FIT)(data)


def _speed_said(data: Any) -> str:
    metrics = data.get("metrics") or {}
    if "ttft_ms_p95" not in metrics or "tpot_ms_p95" not in metrics:
        return tr("mcp.say.answered")
    told = {name: number(metrics[name]["value"]) for name in ("ttft_ms_p95", "tpot_ms_p95", "output_tok_s")}
    return tr("mcp.say.speed", model=data["model"], gpu=data["gpu"], **told)


def _speed_shown(data: Any) -> dict[str, Any]:
    if "metrics" not in data:
        return dict(data)
    kept = {name: data["metrics"][name] for name in LATENCIES if name in data["metrics"]}
    return without("quantiles_ms", "half_widths", "split", "knee")(data) | {
        "metrics": kept or data["metrics"]
    }


def _cost_said(data: Any) -> str:
    rows = data.get("rows") or ()
    if not rows or "price_money_per_hour" not in rows[0]:
        return tr("mcp.say.answered")
    first = rows[0]
    month = first.get("cost_per_month_money")
    return tr(
        "mcp.say.cost", count=len(rows), provider=first["provider"], capacity=first["capacity"],
        month=money(month, data["currency"]) if month is not None else "?",
    )  # fmt: skip


def _cost_shown(data: Any) -> dict[str, Any]:
    rows = data.get("rows") or ()
    if not rows or "price_money_per_hour" not in rows[0]:
        return dict(data)
    shown = _speed_shown(data) | picked("rows", COST_COLUMNS)(data)
    return {
        name: shown[name] for name in ("model", "gpu", "gpus", "currency", "as_of", "load", "metrics", "rows")
    }


def _hold_said(data: Any) -> str:
    best, currency = data.get("best"), data["currency"]
    if not best:
        return tr("mcp.say.hold_nothing", gpu=data["name"])
    return tr(
        "mcp.say.hold", count=best["count"], gpu=data["name"], months=best["term_months"], provider=best["provider"],
        month=money(best["money_per_month"], currency),
        other=money(data["on_demand_money_per_month"], currency),
    )  # fmt: skip


def _hold_shown(data: Any) -> dict[str, Any]:
    def short(one: Any) -> dict[str, Any]:
        return without("outcomes", "flags", "offer", "steps")(one) if isinstance(one, dict) else {}

    kept = ("gpu", "as_of", "currency", "horizon_months", "on_demand_money_per_month", "best")
    shown = {name: data[name] for name in kept if name in data}
    shown["best"] = short(data.get("best"))
    shown["demand"] = without("duration_curve")(data["demand"])
    shown["reservations"] = [short(one) for one in data["reservations"]]
    return shown | {name: short(data.get(name)) for name in ("on_demand", "spot", "block", "serverless")}


def _own_said(data: Any) -> str:
    ownership = data["ownership"]
    return tr(
        "mcp.say.own", gpu=data["name"], year=money(ownership["owned_money_per_year"], data["currency"]),
        hour=money(ownership["useful_money_per_hour"], data["currency"]),
    )  # fmt: skip


def _own_shown(data: Any) -> dict[str, Any]:
    ownership = without("renewals", "residual_source")(data["ownership"])
    kept = ("gpu", "kind", "gpus", "machines", "as_of", "currency", "price", "flips", "by_use", "held_how")
    return {name: data[name] for name in kept if name in data} | {"ownership": ownership}


def _ask_files(asked: Asked) -> dict[str, tuple[str, bytes]]:
    from cabida.report.store import to_json

    files = {}
    if "brief" in asked.said:
        files["--brief"] = ("brief.yaml", brief_of(asked)[0].encode())
    if "decision" in asked.said:
        files["--decision"] = ("decision.json", to_json(decision_of(asked)).encode())
    return files


def _cost_files(asked: Asked) -> dict[str, tuple[str, bytes]]:
    from cabida.report.store import to_json

    if "decision" not in asked.said:
        return {}
    return {"": ("decision.json", to_json(decision_of(asked)).encode())}


def _answered(data: Any) -> str:
    return str(data.get("answer") or tr("mcp.say.answered"))


def _compared(data: Any) -> str:
    return tr("mcp.say.compared", names=", ".join(one["name"] for one in data["accelerators"]))


ONE = {"model": "string", "gpu": "string"}
TOOLS = (
    tool_of(
        "fit", "fit", f"model gpu {SETUP} concurrency min_context method", _fit_said, brief=_fit_shown,
        gives="model:string verdict:string headroom_gib:number rows:array", reaches=True,
    ),
    tool_of(
        "speed", "speed", f"model gpu {SETUP} input_tokens output_tokens concurrency requests_per_s ttft_p95_ms"
        " tpot_p95_ms demand method", _speed_said, brief=_speed_shown, gives="model:string gpu:string metrics:object",
        needs="gpu", left_out="trace", reaches=True,
    ),
    tool_of(
        "cost", "cost", f"model gpu {SETUP} input_tokens output_tokens concurrency demand utilisation acceptance"
        " capacity currency", _cost_said, brief=_cost_shown, gives="model:string currency:string rows:array",
        called={"what": "model"}, beside=(Arg("decision", said="costed_decision"),), files=_cost_files,
        left_out="trace", covers="cost energy", reaches=True,
    ),
    tool_of(
        "hold", "hold", "gpu mean peak profile horizon growth provider on_demand reserved currency", _hold_said,
        brief=_hold_shown, gives="gpu:string best:object reservations:array", left_out="hours",
    ),
    tool_of(
        "own", "own", "gpu gpus utilisation rent price years country electricity currency", _own_said,
        brief=_own_shown, gives="gpu:string ownership:object", left_out="explain every",
    ),
    tool_of("compare", "compare", "ids", _compared, gives="accelerators:array matters:array"),
    tool_of(
        "ask", "ask", "question model gpu input_tokens output_tokens concurrency", _answered,
        gives="answer:string figures:array", left_out="brief decision", files=_ask_files,
        beside=(Arg("brief", most=LONG_CHARS), Arg("decision")), reaches=True,
    ),
    tool_of(
        "here", "here", "model", lambda data: tr("mcp.say.here", count=data["counted"]), here=True,
        gives="machine:object cards:array rows:array", brief=lambda data: data | {
            "rows": picked("rows", FIT_COLUMNS + " cards")(data)["rows"]
        },
    ),
)  # fmt: skip
