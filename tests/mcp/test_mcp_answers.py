"""What answers look like: their size, their parts, their language; what is asked in vain; where files may lie."""

import asyncio
import json
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp_calls import CALLS, DECISION, ID, KEPT, QUOTE, RANK, ROOT, put_in, smollm2

from cabida.faces.mcp.bounded import ALL_TOKENS, BRIEF_TOKENS, bounded, compact, part_at, tokens
from cabida.faces.mcp.held import Held
from cabida.faces.mcp.server import server_of
from cabida.faces.mcp.tool import Place
from cabida.report.store import load
from mcp import Client, MCPError

SLOW = {"recommend", "mix", "rerun"}  # measured where every tool is called, and in the long test
LIST_TOKENS = 15_000  # of all names, descriptions and schemas together
PAGE = ROOT / "docs/mcp.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)

DRAWN_TOKENS = 3  # ids are drawn, and some take a few tokens more than the rule says


def counted(text):
    return len(smollm2().encode(text).ids)


def whole(answer):
    return answer.content[0].text + "\n" + compact(answer.structured_content)


@asynccontextmanager
async def beside(folder=None, **more):
    """A client in the process of the test, with the golden decision held."""
    held = Held()
    id = held.add("", load(DECISION))
    async with Client(server_of(Place(held, folder, **more))) as client:
        yield client, {ID: id, RANK: "1"}


def run(work):
    return asyncio.run(work())


def test_a_default_answer_is_within_its_budget_and_in_the_page(mcp_folder, mcp_journal, monkeypatch):
    """The whole of the table in docs/mcp.md; with CABIDA_WRITE_PAGES=1 it is written."""
    import os

    monkeypatch.setenv("CABIDA_STORE", str(mcp_folder / "sizes.db"))
    monkeypatch.chdir(mcp_folder)
    found = {}

    async def work():
        async with beside(mcp_folder, bench=True) as (client, given):
            for name in (one for one in CALLS if one not in SLOW):
                answer = await client.call_tool(name, put_in(CALLS[name], given))
                assert not answer.is_error, (name, answer.content[0].text)
                if name == "brief_keep":
                    given[KEPT] = answer.structured_content["id"]
                found[name] = (counted(whole(answer)), tokens(whole(answer)))
            listed = (await client.list_tools()).tools
            seen = "\n".join(f"{one.name} {one.description} {compact(one.input_schema)}" for one in listed)
            found["all_tools"] = (counted(seen), 0)

    run(work)
    for name, (exact, by_rule) in found.items():
        if name != "all_tools":
            assert exact - DRAWN_TOKENS <= by_rule <= BRIEF_TOKENS, (name, exact, by_rule)
    rows = {name: exact for name, (exact, _) in found.items()}
    if os.environ.get("CABIDA_WRITE_PAGES") == "1":
        write(rows)
    said = {
        name: int(exact.replace(",", "")) for name, exact, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))
    }
    assert set(said) == set(rows)
    for name, exact in rows.items():  # prices age by the day: a date or two may be longer
        assert abs(said[name] - exact) <= max(40, 0.15 * exact), (name, said[name], exact)


def write(rows):
    told = "\n".join(
        f"| `{name}` | {exact:,} | {BRIEF_TOKENS if name != 'all_tools' else LIST_TOKENS:,} |"
        for name, exact in rows.items()
    )
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- sizes -->\n")
    _, _, tail = rest.partition("\n<!-- end of sizes -->")
    table = f"| answer | tokens | at most |\n| --- | ---: | ---: |\n{told}\n"
    PAGE.write_text(f"{head}<!-- sizes -->\n{table}\n<!-- end of sizes -->{tail}", encoding="utf-8")


def test_all_tools_listed_take_no_more_than_is_said():
    said = {name: most for name, _, most in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    row = {
        name: int(exact.replace(",", "")) for name, exact, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))
    }
    assert row["all_tools"] <= int(said["all_tools"].replace(",", ""))


@pytest.mark.parametrize("name", ["decision", "prices_aside", "own", "quote_audit"])
def test_everything_is_bounded_too_and_has_what_was_left_out(name, monkeypatch, tmp_path):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "s.db"))

    async def work():
        async with beside(tmp_path) as (client, given):
            said = put_in(CALLS[name], given)
            first = await client.call_tool(name, said)
            rest = await client.call_tool(name, said | {"detail": "all"})
            assert counted(whole(rest)) <= ALL_TOKENS
            assert counted(whole(rest)) > counted(whole(first))
            for place in first.structured_content["left_out"]:
                part = await client.call_tool(name, said | {"at": place})
                assert not part.is_error, place
                assert part.structured_content["part"]
                assert tokens(whole(part)) <= BRIEF_TOKENS

    run(work)


def test_a_list_is_paged_to_its_end(tmp_path):
    async def work():
        async with beside(tmp_path) as (client, _):
            seen, at = [], 0
            for _ in range(30):
                part = await client.call_tool(
                    "facts", {"kind": "accelerators", "at": f"rows[{at}:{at + 12}]"}
                )
                rows = part.structured_content["part"]
                assert "left_out" not in part.structured_content
                seen += [one["id"] for one in rows]
                at += 12
                if len(rows) < 12:
                    break
            count = (await client.call_tool("facts", {"at": "rows_count"})).structured_content["part"]
            assert len(seen) == len(set(seen)) == count

    run(work)


def test_a_path_that_leads_nowhere_says_what_is_there():
    async def work():
        async with beside() as (client, given):
            answer = await client.call_tool(
                "decision", put_in({"decision": ID, "at": "options[0].metricks"}, given)
            )
            (one,) = answer.structured_content["errors"]
            assert (answer.is_error, one["code"]) == (True, "CB-O009")
            assert "metrics" in one["cure"]
            assert "options[0]" in one["why"]

    run(work)


@pytest.mark.parametrize(
    ("at", "part"),
    [("a.b[1]", 2), ("a.b[0:2]", [1, 2]), ("t[1:2]", "two"), ("a", {"b": [1, 2, 3]}), ("t[-1]", "three")],
)
def test_parts(at, part):
    assert part_at({"a": {"b": [1, 2, 3]}, "t": "one\ntwo\nthree"}, at) == part


@pytest.mark.parametrize("budget", [60, 200, 1000, 5000])
def test_nothing_is_too_large_to_be_bounded(budget):
    data = {
        "long": "word " * 50_000,
        "rows": [{"name": f"n{at}", "deep": {"x": [{"y": list(range(90))}]}} for at in range(900)],
        "many": {f"k{at}": at / 7 for at in range(2000)}, "known": None, "none": [],
    }  # fmt: skip
    made = bounded(data, budget)
    assert tokens(compact(made)) <= budget + 60
    assert made["left_out"]
    assert "known" not in made


@pytest.mark.parametrize(
    ("lang", "word"), [("en", "Closest"), ("es", "La más cercana"), ("es-MX", "La más cercana")]
)
def test_answers_come_in_the_language_asked_for(lang, word):
    async def work():
        async with beside() as (client, _):
            answer = await client.call_tool("explain", {"decision": "h-0", "lang": lang})
            told = answer.structured_content["errors"][0]["cure"]
            assert told.startswith("Closest" if lang == "en" else "Las más cercanas")
            back = await client.call_tool("explain", {"decision": "h-0"})
            assert back.structured_content["errors"][0]["cure"].startswith("Closest")
            assert word

    run(work)


def test_a_spanish_server_describes_its_tools_in_spanish():
    async def work():
        async with beside(language="es") as (client, _):
            fit = next(one for one in (await client.list_tools()).tools if one.name == "fit")
            assert fit.title == "¿Cabe?"
            assert fit.input_schema["properties"]["gpu"]["description"].startswith("acelerador")
            assert "Empiece" in client.instructions

    run(work)


def test_no_tool_of_that_name():
    async def work():
        async with beside() as (client, _):
            with pytest.raises(MCPError, match="CB-O001") as caught:
                await client.call_tool("recomend", {})
            assert "recommend" in str(caught.value)

    run(work)


def test_answers_as_text_hold_the_same():
    async def work():
        async with beside(as_text=True) as (client, given):
            answer = await client.call_tool("levers", put_in({"decision": ID}, given))
            assert answer.structured_content is None
            assert "levers" in json.loads(answer.content[0].text.split("\n", 1)[1])
            assert all(one.output_schema is None for one in (await client.list_tools()).tools)

    run(work)


BEYOND = ["/etc/passwd", "../other.yaml", "link.yaml", "~/x.yaml", "a/../../x.yaml"]


@pytest.mark.parametrize("path", BEYOND)
@pytest.mark.parametrize(
    ("tool", "name"), [("check", "brief"), ("fit", "model"), ("levers", "decision"), ("quote_audit", "quote")]
)
def test_only_files_under_the_folder_may_be_named(tool, name, path, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "other.yaml").write_text("name: secret\n", encoding="utf-8")
    (root / "link.yaml").symlink_to(tmp_path / "other.yaml")
    sent = path.replace(".yaml", ".json") if name == "decision" and path != "link.yaml" else path

    async def work():
        async with beside(root) as (client, _):
            answer = await client.call_tool(tool, {name: sent})
            (one,) = answer.structured_content["errors"]
            assert one["code"] in ("CB-O005", "CB-O007", "CB-O008")
            assert "secret" not in whole(answer)

    run(work)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("check", {"brief": "/etc/passwd.yaml"}), ("check", {"brief": "brief.yaml"}), ("fit", {"model": "/etc"}),
        ("fit", {"model": "./model.gguf"}), ("cost", {"model": "/etc/brief.yaml", "gpu": "l40s"}),
        ("levers", {"decision": "/tmp/d.json"}), ("check_software", {"stack": "here"}),
        ("check_pc", {"parts": "parts.yaml"}), ("fit", {"model": "llama-3.1-8b", "more": {"draft": "/etc/x.json"}}),
    ],
)  # fmt: skip
def test_over_a_network_no_file_is_named(tool, said, monkeypatch, tmp_path):
    (tmp_path / "brief.yaml").write_text("name: secret\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    opened = []
    real = Path.open

    def watched(self, *args, **more):
        opened.append(str(self))
        return real(self, *args, **more)

    monkeypatch.setattr(Path, "open", watched)

    async def work():
        async with beside(None) as (client, _):
            answer = await client.call_tool(tool, said)
            assert [one["code"] for one in answer.structured_content["errors"]] == ["CB-O006"]

    run(work)
    assert not [one for one in opened if one.startswith(("/etc", str(tmp_path / "brief.yaml")))]


def test_a_brief_over_a_network_brings_no_files_and_fetches_no_model():
    brief = (ROOT / "examples/student-4090.yaml").read_text(encoding="utf-8")

    async def work():
        async with beside(None) as (client, _):
            traced = brief + "\ntraffic:\n  trace: /etc/passwd\n"
            answer = await client.call_tool("check", {"brief": traced})
            assert answer.is_error
            assert "root:" not in whole(answer)
            answer = await client.call_tool("fit", {"model": "hf:meta-llama/secret", "gpu": ["l40s"]})
            assert [one["code"] for one in answer.structured_content["errors"]] == ["CB-F010"]

    run(work)


def test_a_file_that_a_brief_names_lies_under_the_folder(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: x\ntraffic:\n  trace: ../../etc/passwd\n", encoding="utf-8")

    async def work():
        async with beside(tmp_path) as (client, _):
            for said in ("mine.yaml", (tmp_path / "mine.yaml").read_text(encoding="utf-8")):
                answer = await client.call_tool("check", {"brief": said})
                assert answer.structured_content["errors"][0]["code"] == "CB-O005"

    run(work)


def test_a_plan_that_runs_commands_is_not_run(tmp_path):
    plan = (ROOT / "examples/bench/plan.yaml").read_text(encoding="utf-8")
    risky = plan.replace("rules:\n", "rules:\n  - {kind: command, name: mine, value: {run: [touch, gone]}}\n")

    async def work():
        async with beside(tmp_path, bench=True) as (client, _):
            answer = await client.call_tool("bench_run", {"plan": risky})
            assert answer.is_error
            assert not (tmp_path / "gone").exists()
            shown = await client.call_tool("bench_run", {"plan": plan, "dry_run": True, "detail": "all"})
            phases = {one["phase"] for one in shown.structured_content["runs_planned"]}
            assert "drill" not in phases
            assert phases
        async with beside(tmp_path) as (client, _):
            assert "bench_run" not in {one.name for one in (await client.list_tools()).tools}

    run(work)


def test_resources_are_listed_and_each_is_read(tmp_path):
    async def work():
        async with beside(tmp_path) as (client, given):
            found = (await client.list_resources()).resources
            assert {one.uri.split("/")[2] for one in found} == {"schemas", "examples", "facts", "decisions"}
            for one in found:
                (content,) = (await client.read_resource(one.uri)).contents
                assert content.text.strip()
                assert content.mime_type == one.mime_type
                if one.mime_type == "application/json":
                    json.loads(content.text)
            (record,) = (await client.read_resource(f"cabida://decisions/{given[ID]}/record")).contents
            assert record.text.startswith("# support-chat")
            (fact,) = (await client.read_resource("cabida://fact/h100-sxm-80")).contents
            assert json.loads(fact.text)["sources"]
            assert len((await client.list_resource_templates()).resource_templates) == 6
            for uri in (
                "cabida://nothing/x",
                "file:///etc/passwd",
                "cabida://facts/feelings",
                "cabida://decisions/h-0",
            ):
                with pytest.raises(MCPError, match="CB-O0"):
                    await client.read_resource(uri)

    run(work)


def test_prompts(tmp_path):
    async def work():
        async with beside(tmp_path) as (client, _):
            names = {one.name: one for one in (await client.list_prompts()).prompts}
            assert set(names) == {"describe_workload", "audit_quote"}
            made = await client.get_prompt("audit_quote", {"quote": QUOTE})
            assert QUOTE in made.messages[0].content.text
            assert (
                "<about>" not in (await client.get_prompt("describe_workload", {})).messages[0].content.text
            )
            for name, said, code in (("audit", {}, "CB-O013"), ("audit_quote", {}, "CB-O003")):
                with pytest.raises(MCPError, match=code):
                    await client.get_prompt(name, said)

    run(work)


@pytest.mark.long
def test_decisions_on_every_example_are_within_the_budget(tmp_path):
    async def work():
        async with beside(tmp_path) as (client, _):
            for path in sorted((ROOT / "examples").glob("*.yaml")):
                said = {"brief": f"example:{path.stem}", "assume": True, "as_of": "2026-11-30"}
                answer = await client.call_tool("recommend", said)
                assert not answer.is_error, path.stem
                assert counted(whole(answer)) <= tokens(whole(answer)) <= BRIEF_TOKENS, path.stem

    run(work)
