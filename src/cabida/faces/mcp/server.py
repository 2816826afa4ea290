"""The server that speaks the Model Context Protocol: tools, resources and prompts over the official SDK."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cabida.faces.mcp import prompts, resources
from cabida.faces.mcp.answering import Answer, answered, busy, text_of
from cabida.faces.mcp.listing import offered
from cabida.faces.mcp.tool import Place, Tool
from cabida.text import closest, problem, speaking, tr

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp_types import CallToolResult

AT_ONCE = max(2, min(8, os.cpu_count() or 2))
MOST_WAITING = 32  # beside those that are answered
NAME = "cabida"


@dataclass(frozen=True, slots=True)
class Person:
    """Who calls: their name ("" = whoever runs the server), and whether they may change what is kept."""

    name: str = ""
    may_edit: bool = True


def person_of(context: Any) -> Person:
    """Who calls, as the door that let them in says."""
    found = getattr(getattr(context.request, "state", None), "person", None)
    if found is None:
        return Person()
    return Person(found.name, bool(found.may_edit))


def server_of(place: Place) -> Server[Any]:
    """A server of this place, not running yet."""
    import mcp_types as types
    from anyio import CapacityLimiter
    from mcp.server.lowlevel.server import Server
    from mcp.shared.exceptions import MCPError

    import cabida

    room, seats = CapacityLimiter(AT_ONCE), threading.BoundedSemaphore(AT_ONCE + MOST_WAITING)

    async def list_tools(context: Any, _: Any) -> types.ListToolsResult:
        with speaking(place.language):
            found = offered(place, may_edit=person_of(context).may_edit).values()
            return types.ListToolsResult(tools=[_described(one, place) for one in found])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        person = person_of(context)
        mine = offered(place, may_edit=person.may_edit)
        if params.name not in mine:
            with speaking(place.language):
                near = closest(params.name, mine) or ", ".join(list(mine)[:5])
                fault = problem("CB-O001", name=params.name[:60], near=near)
            raise MCPError(types.INVALID_PARAMS, str(fault), fault.as_dict())
        if not seats.acquire(blocking=False):
            return _result(busy(), place)
        try:
            answer = await _worked_out(
                mine[params.name], params.arguments or {}, place, person, context, room
            )
        finally:
            seats.release()
        return _result(answer, place)

    def told(work: Any, *given: Any) -> Any:
        from cabida.errors import CabidaError

        with speaking(place.language):
            try:
                return work(place, *given)
            except CabidaError as error:
                first = error.problems[0]
                raise MCPError(types.INVALID_PARAMS, str(error), first.as_dict()) from None

    async def list_resources(context: Any, _: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=told(resources.listed, person_of(context).name))

    async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=told(resources.templates))

    async def read_resource(context: Any, params: Any) -> types.ReadResourceResult:
        from anyio import to_thread

        work = partial(told, resources.read, person_of(context).name, str(params.uri))
        text, kind = await to_thread.run_sync(work, limiter=room)
        content = types.TextResourceContents(uri=str(params.uri), mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=told(prompts.listed))

    async def get_prompt(_: Any, params: Any) -> types.GetPromptResult:
        found: types.GetPromptResult = told(prompts.made, params.name, params.arguments or {})
        return found

    with speaking(place.language):
        return Server(
            NAME, version=cabida.__version__, title="Cabida", instructions=tr("mcp.instructions"),
            on_list_tools=list_tools, on_call_tool=call_tool, on_list_resources=list_resources,
            on_list_resource_templates=list_templates, on_read_resource=read_resource, on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
        )  # fmt: skip


async def _worked_out(
    tool: Tool, sent: dict[str, Any], place: Place, person: Person, context: Any, room: Any
) -> Answer:
    """The answer, from a thread; when the call is cancelled the thread ends at its next word of progress."""
    from anyio import from_thread, to_thread

    stop = threading.Event()

    def tell(done: int, of: int, what: str) -> None:
        from_thread.run(context.session.report_progress, float(done), float(of) if of else None, what)

    work = partial(
        answered, tool, sent, place, person=person.name, may_edit=person.may_edit, tell=tell, stop=stop
    )
    try:
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=room)
    finally:
        stop.set()


def _described(tool: Tool, place: Place) -> Any:
    import mcp_types as types

    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.input_schema(),
        output_schema=None if place.as_text else tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.changes, destructive_hint=tool.loses, idempotent_hint=tool.name != "bench_run",
            open_world_hint=tool.reaches and place.root is not None,
        ),
    )  # fmt: skip


def _result(answer: Answer, place: Place) -> CallToolResult:
    import mcp_types as types

    text = text_of(answer) if place.as_text else answer.text
    content: list[Any] = [types.TextContent(text=text)]
    content += [types.ResourceLink(uri=uri, name=name) for uri, name in answer.links.items()]
    structured = None if place.as_text else answer.data
    return types.CallToolResult(content=content, structured_content=structured, is_error=answer.is_error)


async def serve_stdio(place: Place) -> None:
    """Serve over standard input and output until the other side closes them."""
    from mcp.server.stdio import stdio_server

    server = server_of(place)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
