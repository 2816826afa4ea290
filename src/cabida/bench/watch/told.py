"""What was watched and what the ramp found, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.bench.watch.memory import MemoryEdge
from cabida.bench.watch.sampling import said_why
from cabida.text import has_text, number, percent, printable, tr


def event_sentence(row: Mapping[str, Any]) -> str:
    """One event row of a watcher as a sentence; "" for one that is only for machines."""
    event = str(row.get("event", ""))
    name = f"log_{row.get('sign')}" if event == "log" else event
    key = f"watch.event.{name.replace('-', '_')}"
    if not has_text(key):
        return ""
    gpu = row.get("gpu")
    return tr(
        key,
        page=printable(str(row.get("page", ""))),
        why=said_why(str(row.get("why", "")), row.get("detail", "")),
        gpu="?" if gpu is None else gpu,
        count=row.get("count", 1),
        code=row.get("code", "?"),
        names=", ".join(row.get("names", ())),
        reasons=", ".join(_reason(one) for one in row.get("reasons", ())),
        bytes=number(float(row.get("bytes", 0))),
    )


def _reason(name: str) -> str:
    key = f"watch.reason.{name.replace('-', '_')}"
    return tr(key) if has_text(key) else name


def verdict_words(verdict: str) -> str:
    """What ended a search, as people say it: ``out-of-memory`` as "memory ran out"."""
    key = f"watch.verdict.{verdict.replace('-', '_')}"
    return tr(key) if has_text(key) else verdict


def sentences(edge: MemoryEdge) -> list[str]:
    """What a ramp found, the rule of its margin included."""
    found = [_context(edge), *_crowd(edge)]
    if edge.kv_tokens is not None:
        used = edge.kv_used_ratio_most
        found.append(tr("watch.edge.cache", tokens=number(edge.kv_tokens, 6),
                        used="?" if used is None else percent(used)))  # fmt: skip
    if edge.memory_most_bytes:
        most = max(edge.memory_most_bytes.values())
        found.append(tr("watch.edge.peak", size=number(most / 2**30)))
    if edge.out_of_memory_count:
        found.append(
            tr(
                "watch.edge.out_of_memory",
                count=edge.out_of_memory_count,
                requests=number(edge.requests_count),
                ratio=percent(edge.out_of_memory_ratio or 0.0),
            )
        )
    if edge.others_most:
        found.append(tr("watch.edge.others", count=edge.others_most))
    if edge.ended not in ("found", ""):
        found.append(tr(f"watch.ended.{edge.ended.replace('-', '_')}"))
    return found


def _context(edge: MemoryEdge) -> str:
    if edge.context_tokens_most is None:
        return tr("watch.edge.no_context", why=verdict_words(edge.context_ended_by or "error"))
    text = tr(
        "watch.edge.context",
        tokens=number(edge.context_tokens_most, 6),
        why=verdict_words(edge.context_ended_by),
    )
    if edge.context_told_tokens is None:
        return text
    key = "watch.edge.told" if edge.context_verified else "watch.edge.told_wrong"
    return f"{text} {tr(key, tokens=number(edge.context_told_tokens, 6))}"


def _crowd(edge: MemoryEdge) -> list[str]:
    if edge.concurrency_most is None or edge.concurrency_context_tokens is None:
        return []
    tokens = number(edge.concurrency_context_tokens, 6)
    if edge.concurrency_edge is None:
        text = tr("watch.edge.crowd_open", count=edge.concurrency_most, tokens=tokens)
    else:
        text = tr(
            "watch.edge.crowd",
            count=edge.concurrency_most,
            tokens=tokens,
            beyond=edge.concurrency_edge,
            why=verdict_words(edge.concurrency_ended_by),
        )
    safe = edge.safe_concurrency or 1
    if edge.margin_ratio:
        rule = tr("watch.edge.safe", count=safe, margin=percent(edge.margin_ratio))
    else:
        rule = tr("watch.edge.safe_whole", count=safe)
    return [text, rule]
