"""The page that lists the API: every operation, what it takes, and how to ask it from a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from cabida.faces.web.api.described import GROUPS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def shown(request: Request) -> Response:
    """``/api``: the operations by group."""
    from cabida.faces.web.frame import page

    found = request.app.openapi()
    settings = request.app.state.settings
    address = settings.behind or f"http://{request.headers.get('host', 'localhost')}"
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS}
    for path, methods in found["paths"].items():
        for method, one in methods.items():
            groups[one["tags"][0]].append(_operation(found, address, path, method, one, settings))
    return page(request, "api.html.j2", groups={k: v for k, v in groups.items() if v}, settings=settings)


def _operation(
    whole: dict[str, Any], address: str, path: str, method: str, one: dict[str, Any], settings: Any
) -> dict[str, Any]:
    kind, schema = _body(whole, one)
    fields = [
        {"name": name, "about": told.get("description", ""), "needed": name in schema.get("required", ()),
         "takes": _takes(told)}
        for name, told in schema.get("properties", {}).items()
    ]  # fmt: skip
    fields += [
        {"name": param["name"], "about": param.get("description", ""), "needed": param.get("required", False),
         "takes": _takes(param["schema"])}
        for param in one.get("parameters", ())
    ]  # fmt: skip
    return {
        "id": one["operationId"], "method": method.upper(), "path": path, "summary": one.get("summary", ""),
        "about": one.get("description", ""), "fields": fields,
        "curl": _curl(address, path, method, kind, schema, one, settings),
    }  # fmt: skip


def _body(whole: dict[str, Any], one: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    for kind, told in one.get("requestBody", {}).get("content", {}).items():
        schema = told["schema"]
        name = schema.get("$ref", "").rpartition("/")[2]
        return kind, whole["components"]["schemas"][name] if name else schema
    return "", {}


def _takes(schema: dict[str, Any]) -> str:
    """What a field takes, in a few signs: ``integer 1–8``, ``fp8 | bf16``."""
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"[{_takes(schema.get('items', {}))}, …]"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_takes(one) for one in schema["anyOf"] if one.get("type") != "null"))
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    bounds = f" {_short(low)}–{_short(high)}" if low is not None and high is not None else ""
    return f"{schema.get('type', 'object')}{bounds}"


def _short(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


SUCH = {
    "model": "llama-3.1-8b", "what": "llama-3.1-8b", "gpu": "h100-sxm-80", "ids": ["h100-sxm-80", "h200-sxm-141"],
    "question": ["does llama-3.3-70b fit on an H200?"], "software": "vllm 0.10 on rtx-5090", "name": "support-chat",
    "quote": "q1", "quotes": ["q1", "q2"], "pc": "gpu: 2x RTX 4090, supply: 1000 W", "kind": "engines",
    "role": "reader", "brief_id": "b-…", "decision_id": "d-…",
}  # fmt: skip
ASKED_WITH = {
    "post_fit": ("model", "gpu"), "post_speed": ("model", "gpu"), "post_cost": ("what", "gpu"),
    "post_check_software": ("software",), "post_check_pc": ("pc",), "get_prices_history": ("gpu",),
    "get_prices_api": ("model",), "post_recommend": ("brief_id",), "post_mix": ("brief_id",),
    "post_check": ("brief_id",), "post_explain": ("decision_id",), "post_launch": ("decision_id",),
    "post_record": ("decision_id",), "post_levers": ("decision_id",), "post_bench_plan": ("decision_id",),
}  # fmt: skip


def _curl(
    address: str,
    path: str,
    method: str,
    kind: str,
    schema: dict[str, Any],
    one: dict[str, Any],
    settings: Any,
) -> str:
    """How to ask it from a terminal."""
    words = ["curl -s"]
    if method != "get":
        words.append(f"-X {method.upper()}")
    if not settings.open_to_loopback_only:
        words.append('-H "Authorization: Bearer $CABIDA_TOKEN"')
    names = ASKED_WITH.get(one["operationId"], tuple(schema.get("required", ())))
    where = f"{address}{path}"
    if kind == "application/json":
        said = {name: _such(name, schema["properties"].get(name, {})) for name in names}
        words.append("-H 'Content-Type: application/json'")
        words.append(f"-d '{json.dumps(said, ensure_ascii=False)}'")
    elif kind:
        words.append("-F files=@FILE")
    else:
        params = one.get("parameters", ())
        asked = names or tuple(p["name"] for p in params if p["in"] == "query" and p.get("required"))
        pairs = [f"{name}={value}" for name in asked for value in _many(SUCH.get(name, "…"))]
        where += "?" + "&".join(pairs) if pairs else ""
    if any(param["name"].lower() == "if-match" for param in one.get("parameters", ())):
        words.append("-H 'If-Match: \"1\"'")
    words.append(f"'{where}'")
    return " ".join(words)


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _such(name: str, schema: dict[str, Any]) -> Any:
    many = schema.get("type") == "array"
    usual: Any = {"object": {}, "array": [], "integer": 1, "number": 1}.get(schema.get("type", ""), "…")
    value = SUCH.get(name, usual)
    return [value] if many and not isinstance(value, list) else value


ROUTES = [Route("/api", shown, name="api")]
