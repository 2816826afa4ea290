"""Tools that look things up: facts, models, prices, what was observed; and what goes together."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cabida.faces.mcp.args import AS_OF, LONG_CHARS, Arg
from cabida.faces.mcp.commanded import picked, rows, tool_of
from cabida.faces.mcp.given import parts_of
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.text import tr

PRICE_COLUMNS = "id gpu model provider capacity region amount unit currency term_months seen flags converted"
ASIDE_COLUMNS = "id gpu provider capacity amount unit currency seen reason middle ratio"
API_COLUMNS = "provider model_id cost_per_month_money accepted_answer_money prices seen cautions"
MODEL_COLUMNS = "id task params_count active_params_count context_tokens native_format licence"
ROWS = "rows:array rows_count:integer"


def _counted(data: Any) -> str:
    return tr("mcp.say.rows", count=data["rows_count"])


def _shown(columns: str) -> Any:
    return picked("rows", columns, "rows_count")


def _api_said(data: Any) -> str:
    first = data["rows"][0] if data["rows"] else {}
    return tr(
        "mcp.say.api", model=data["model"], count=len(data["rows"]), provider=first.get("provider", "–")
    )


def _found(found: Any) -> Told:
    told = [asdict(one) for one in found]
    say = tr("mcp.say.findings", count=len(told)) if told else tr("mcp.say.no_findings")
    return Told({"findings": told}, say)


def _software(asked: Asked) -> Told:
    from cabida.checks import check_software
    from cabida.checks.told import HERE
    from cabida.errors import InvalidInput
    from cabida.text import problem

    stack = parts_of(asked, "stack", "stack.txt")
    if asked.place.root is None and str(stack).strip().lower() == HERE:
        raise InvalidInput([problem("CB-O006", path=HERE)])
    return _found(check_software(stack, as_of=asked.get("as_of", "")))


def _pc(asked: Asked) -> Told:
    from cabida.checks import check_pc

    return _found(check_pc(parts_of(asked, "parts", "parts.yaml"), as_of=asked.get("as_of", "")))


def _rack(asked: Asked) -> Told:
    from cabida.checks import check_rack
    from cabida.faces.mcp.given import as_file

    rack = parts_of(asked, "rack", "rack.yaml")
    if isinstance(rack, str):
        rack = as_file(asked, "rack.yaml", rack)
    return _found(check_rack(rack, as_of=asked.get("as_of", "")))


TOOLS: tuple[Tool, ...] = (
    tool_of("facts", "facts list", "kind", _counted, whole=rows, gives=ROWS, covers="facts_list"),
    tool_of(
        "fact", "facts show", "id", lambda data: tr("mcp.say.fact", id=data.get("id", "")), gives="sources:object",
        covers="fact", called={"id": "id"},
    ),
    tool_of(
        "facts_check", "facts check", "", lambda _: tr("mcp.say.sound_facts"), gives="digest:string faults:array",
        covers="facts_check",
    ),
    tool_of("models", "models", "match", _counted, whole=rows, brief=_shown(MODEL_COLUMNS), gives=ROWS),
    tool_of(
        "prices", "prices list", "gpu provider capacity region currency sort", _counted, whole=rows,
        brief=_shown(PRICE_COLUMNS), gives=ROWS,
    ),
    tool_of(
        "price_history", "prices history", "gpu provider capacity currency",
        lambda data: tr("mcp.say.history", gpu=data["name"], count=len(data["days"])), gives="gpu:string days:array",
        needs="gpu",
    ),
    tool_of(
        "price", "prices show", "id", lambda data: tr("mcp.say.fact", id=data.get("id", "")), gives="sources:object",
        covers="price",
    ),
    tool_of(
        "prices_aside", "prices aside", "gpu currency", _counted, whole=rows, brief=_shown(ASIDE_COLUMNS), gives=ROWS,
    ),
    tool_of("exchange_rates", "prices rates", "currency", _counted, whole=rows, gives=ROWS),
    tool_of(
        "api_prices", "prices api", "model requests_per_month input_tokens output_tokens prefix_tokens batch currency",
        _api_said, brief=picked("rows", API_COLUMNS, "model", "as_of", "currency"), gives="model:string rows:array",
        needs="model",
    ),
    Tool(
        "check_software", _software, (Arg("stack", needed=True, most=LONG_CHARS), AS_OF), {"findings": "array"},
        ("check_software",),
    ),
    Tool(
        "check_pc", _pc, (Arg("parts", needed=True, most=LONG_CHARS), AS_OF), {"findings": "array"}, ("check_pc",),
    ),
    Tool(
        "check_rack", _rack, (Arg("rack", needed=True, most=LONG_CHARS), AS_OF), {"findings": "array"},
        ("check_rack",),
    ),
)  # fmt: skip
