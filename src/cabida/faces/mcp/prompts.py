"""Conversations to begin with: a workload described, a quote audited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.errors import InvalidInput
from cabida.faces.mcp.args import LONG_CHARS
from cabida.faces.mcp.tool import Place
from cabida.text import closest, problem, tr

PROMPTS = {"describe_workload": ("about",), "audit_quote": ("quote",)}  # name -> arguments
NEEDED = ("quote",)


def listed(_: Place) -> list[Any]:
    """The prompts with their arguments."""
    import mcp_types as types

    return [
        types.Prompt(
            name=name,
            title=tr(f"mcp.prompt.{name}.title"),
            description=tr(f"mcp.prompt.{name}.short"),
            arguments=[
                types.PromptArgument(name=one, description=tr(f"mcp.arg.{one}"), required=one in NEEDED)
                for one in names
            ],
        )
        for name, names in PROMPTS.items()
    ]


def made(_: Place, name: str, said: Mapping[str, str]) -> Any:
    """One prompt with what was said put in.

    Raises:
        InvalidInput: CB-O013, there is none of that name; CB-O003 and CB-O004, its argument is missing or too long.
    """
    import mcp_types as types

    if name not in PROMPTS:
        raise InvalidInput(
            [problem("CB-O013", name=name[:60], near=closest(name, PROMPTS) or ", ".join(PROMPTS))]
        )
    (argument,) = PROMPTS[name]
    text = said.get(argument, "")
    if argument in NEEDED and not text.strip():
        raise InvalidInput([problem("CB-O003", tool=name, name=argument)])
    if len(text) > LONG_CHARS:
        raise InvalidInput(
            [problem("CB-O004", tool=name, name=argument, why=tr("mcp.too_long", most=LONG_CHARS))]
        )
    told = tr(f"mcp.prompt.{name}.text")
    whole = f"{told}\n\n<{argument}>\n{text}\n</{argument}>" if text.strip() else told
    message = types.PromptMessage(role="user", content=types.TextContent(text=whole))
    return types.GetPromptResult(description=tr(f"mcp.prompt.{name}.short"), messages=[message])
