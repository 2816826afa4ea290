"""Reading a brief: all errors at once, each with its line and its cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cabida import facts
from cabida.brief.build import build
from cabida.brief.contradictions import Sellers, contradictions, known_providers
from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.lines import Said, read_lines, read_text
from cabida.brief.model import Brief
from cabida.brief.shapes import Walk, walk
from cabida.brief.trace import read_trace, summarise
from cabida.errors import InvalidInput


def read_brief(path: str | Path, *, as_of: str = "", sellers: Sellers = tuple) -> Brief:
    """The brief in a YAML file.

    Args:
        path: the file, at most 1 MB of UTF-8.
        as_of: ISO date against which deadlines are judged; "" = today.
        sellers: tells who sells beside those in the facts; asked only where a name is not among these.

    Raises:
        InvalidInput: with every problem of the file (``CB-B###``), each with its line.
    """
    return parse_brief(read_text(Path(path), str(path)), file=str(path), as_of=as_of, sellers=sellers)


def parse_brief(
    text: str,
    *,
    file: str = "brief.yaml",
    as_of: str = "",
    defaults: Mapping[str, str] | None = None,
    sellers: Sellers = tuple,
) -> Brief:
    """The brief in a YAML text; ``file`` is what problems call it.

    ``defaults`` are values, written as in the brief, for paths that the text leaves out or calls unknown.

    Raises:
        InvalidInput: with every problem of the text, each with its line.
    """
    tree, problems = read_lines(text, file)
    for path, default in (defaults or {}).items():
        _set(tree, path.split("."), default)
    found = Walk(file, problems=problems)
    plain = walk(tree, WHOLE_BRIEF, "", found) or {}
    brief = build(plain, found, text, as_of)
    if all_problems := [*found.problems, *contradictions(brief, found, as_of, sellers)]:
        raise InvalidInput(sorted(all_problems, key=lambda item: item.line))
    return _with_trace(_with_known_names(brief, sellers))


def _with_known_names(brief: Brief, sellers: Sellers) -> Brief:
    """Accelerators and providers under the names of the facts, however people call them ("RTX 4090")."""

    def known(name: str) -> str:
        found = facts.find_accelerator(name)
        return found.id if found else name

    have = tuple(replace(held, accelerator=known(held.accelerator)) for held in brief.have)
    accelerators = tuple(known(name) for name in brief.consider.accelerators)
    asked = brief.consider.providers
    named = known_providers(asked, sellers) if asked else {}
    providers = tuple(named.get(name.lower(), name) for name in brief.consider.providers)
    consider = replace(brief.consider, accelerators=accelerators, providers=providers)
    return replace(brief, have=have, consider=consider)


def _with_trace(brief: Brief) -> Brief:
    """Rate and lengths that the brief leaves to its trace, which lies beside it."""
    traffic = brief.traffic
    if not traffic.trace:
        return brief
    path = Path(brief.file).parent / traffic.trace
    found = summarise(read_trace(path))
    said_rate = traffic.requests_per_s_mean is not None or traffic.concurrency is not None
    traffic = replace(
        traffic,
        trace=str(path),
        requests_per_s_mean=traffic.requests_per_s_mean if said_rate else found.requests_per_s_mean,
        requests_per_s_peak=traffic.requests_per_s_peak if said_rate else found.requests_per_s_peak,
        input=traffic.input or found.input,
        output=traffic.output or found.output,
        burst_ratio=traffic.burst_ratio if "traffic.burst" in brief.where else found.burst_ratio,
    )
    return replace(brief, traffic=traffic)


def _set(tree: Said, keys: list[str], default: str) -> None:
    """Puts a default where the text says nothing."""
    here = tree.value
    for key in keys[:-1]:
        if not isinstance(here, dict):
            return
        if not isinstance(here.get(key, Said(None, 0)).value, dict):
            here[key] = Said({}, here[key].line if key in here else 0)
        here = here[key].value
    value = read_lines(f"default: {default}")[0].value
    if isinstance(here, dict) and isinstance(value, dict):
        here[keys[-1]] = Said(value["default"].value, 0)
