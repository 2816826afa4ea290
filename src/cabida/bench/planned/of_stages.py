"""What answers before the generator of a retrieval service: the embedder and the reranker, each by its own API."""

from __future__ import annotations

from cabida.bench.planned.of_load import requests_count
from cabida.bench.planned.wanted import Wanted, expected, rounded, whole_minutes_s
from cabida.plan import Decision
from cabida.plan.bench import Contender, Load, Run, Target
from cabida.text import number, tr

PORT = {"embedder": "8001", "reranker": "8002"}


def stages(decision: Decision, url: str) -> tuple[list[Contender], list[Run]]:
    """A contender and a run for each stage that the brief names, at the peak of the first option."""
    wanted = Wanted(decision, decision.brief)
    said, first = wanted.part("retrieval"), decision.options[0]
    traffic = wanted.part("traffic")
    peak = traffic.get("requests_per_s_peak") or traffic.get("requests_per_s_mean") or 1.0
    count, _, _ = requests_count(wanted, first, wanted.half_width_ratio)
    contenders, runs = [], []
    for role, api, metric in (
        ("embedder", "embeddings", "embed_ms_p95"),
        ("reranker", "rerank", "rerank_ms_p95"),
    ):
        model = said.get(role)
        if not model:
            continue
        lasts_s = whole_minutes_s(count / float(peak) + 60.0)
        contenders.append(
            Contender(role, Target(_beside(url, PORT[role]), model=str(model), api=api, stream=False))
        )
        key = "embeddings" if role == "embedder" else "rerank"
        runs.append(
            Run(
                name=role,
                phase="load",
                candidate=role,
                load=Load("poisson", requests_per_s=rounded(float(peak)), duration_s=min(3600.0, lasts_s)),
                duration_s=min(3600.0, lasts_s),
                expected=tuple(
                    type(one)(
                        one.metric.replace(metric, "e2e_ms_p95"), one.value, one.low, one.high, one.basis
                    )
                    for one in expected(first, [metric])
                ),
                why=tr(f"planned.why.{key}", pairs=number(float(said.get("candidates_count") or 0), 6))
                if key == "rerank"
                else tr(f"planned.why.{key}"),
            )
        )
    return contenders, runs


def _beside(url: str, port: str) -> str:
    """The same address at another port."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "127.0.0.1"
    return urlunsplit((parts.scheme, f"{host}:{port}", parts.path, "", ""))
