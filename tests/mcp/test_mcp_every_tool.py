"""The official SDK's client lists and calls every tool, soundly and not, over standard input and over HTTP."""

import asyncio
import json

import jsonschema
import pytest
from mcp_calls import BAD, CALLS, ID, KEPT, RANK, put_in

from cabida import app, checks
from cabida.faces.mcp.listing import NO_TOOLS, tools
from mcp import Client

HERE_ONLY = {"here", "observe", "validate", "traffic", "track", "bench_report", "bench_run"}


async def every_call(server):
    """Each tool called soundly and then not; name -> tool, sound answer, bad answer."""
    async with Client(server) as client:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        given, found, faults = {}, {}, []
        for name in [one for one in CALLS if one in listed]:
            sound = await client.call_tool(name, put_in(CALLS[name], given))
            if sound.is_error:
                faults.append(f"{name}: {sound.content[0].text}")
            if name == "recommend":
                given[ID] = sound.structured_content["decision"]
                part = await client.call_tool(
                    "decision", {"decision": given[ID], "at": "options", "detail": "all"}
                )
                given[RANK] = next(
                    str(one["rank"]) for one in part.structured_content["part"] if one["accelerator"]
                )
            if name == "brief_keep":
                given[KEPT] = sound.structured_content["id"]
            found[name] = sound
        assert not faults, "\n".join(faults)
        bad = {name: await client.call_tool(name, put_in(BAD[name][0], given)) for name in found}
        return listed, found, bad


def held_to(listed, found, bad):
    assert set(found) == set(listed)
    for name, answer in found.items():
        assert answer.content[0].text.strip(), name
        jsonschema.validate(answer.structured_content, listed[name].output_schema)
        json.dumps(answer.structured_content, allow_nan=False)
        jsonschema.Draft202012Validator.check_schema(listed[name].input_schema)
    wrong = {name: answer.structured_content for name, answer in bad.items() if not answer.is_error}
    assert not wrong
    codes = {
        name: [one["code"] for one in answer.structured_content["errors"]] for name, answer in bad.items()
    }
    assert not {
        name: each for name, each in codes.items() if not all(one.startswith(BAD[name][1]) for one in each)
    }
    for name, answer in bad.items():
        errors = answer.structured_content["errors"]
        assert errors, name
        assert all(one["what"] for one in errors), name
        assert errors[0]["code"] in answer.content[0].text
        assert "Traceback" not in answer.content[0].text


def test_every_tool_over_standard_input(stdio):
    listed, found, bad = asyncio.run(every_call(stdio))
    assert set(listed) == set(tools()) == set(CALLS) == set(BAD)
    held_to(listed, found, bad)


def test_every_tool_over_http(over_http):
    listed, found, bad = asyncio.run(every_call(over_http))
    assert set(listed) == set(tools()) - HERE_ONLY
    held_to(listed, found, bad)


def test_every_use_case_is_a_tool_or_says_why_not():
    covered = {name for one in tools().values() for name in one.covers}
    cases = set(app.__all__) | {"check_software", "check_pc", "check_rack"}
    assert covered | set(NO_TOOLS) == cases | (covered & set(tools()) - cases)
    assert not covered & set(NO_TOOLS)
    assert {"check_software", "check_pc", "check_rack"} <= set(checks.__all__)
    assert all(len(why) > 5 for why in NO_TOOLS.values())


@pytest.mark.parametrize("name", sorted(tools()))
def test_a_tool_says_what_it_may_change(name):
    one = tools()[name]
    assert one.changes == (name.endswith("_keep") or name == "bench_run")
