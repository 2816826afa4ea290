"""Whether a split is lawful, and whether it crosses a link it should not."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from cabida.checks.sentences import caution
from cabida.errors import Problem
from cabida.facts.mig import FORM
from cabida.facts.model import Accelerator, Model, Node
from cabida.plan import Caution, Deployment, Parallel
from cabida.text import number, problem, tr

WRITERS = ("llm", "vlm")  # tasks of the models that write token by token
VOCABULARY_PAD_COUNT = 64  # vLLM and SGLang pad the vocabulary to a multiple of this
EVEN_ENGINES = ("vllm", "sglang", "tensorrt-llm")  # every rank gets the same share, or the engine won't start


def refused_task(model: Model) -> list[Problem]:
    """Why a model has no speed in tokens (CB-K091): it writes none."""
    if model.task in WRITERS:
        return []
    return [problem("CB-K091", model=model.id, task=tr(f"brief.task.{model.task}"))]


def refused_split(deployment: Deployment) -> list[Problem]:
    """Why the engine would not start with this split (CB-K090), or why no engine would (CB-K098, MIG slices).

    Empty when it would start, or splits unevenly itself.
    """
    card, p = deployment.accelerator, deployment.parallel
    if alone := refused_slices(card, p.tp * p.pp * p.cp):
        return alone
    if deployment.engine not in EVEN_ENGINES:
        return _refused(_layers(p, deployment.model), deployment.model, card)
    if wrong := _refused_dealing(deployment):
        return wrong
    model = deployment.model
    return _refused(judge_split(deployment.parallel, model, card, deployment.node), model, card)


def refused_training(parallel: Parallel, model: Model, card: Accelerator) -> list[Problem]:
    """Why no framework would train with this split (CB-K090, CB-K098). Frameworks pad the vocabulary themselves."""
    if alone := refused_slices(card, parallel.accelerators_count):
        return alone
    found = [*_heads(parallel, model), *_layers(parallel, model), *_dealt_experts(parallel, model)]
    ranks = parallel.tp * parallel.dp * parallel.cp
    if ranks % parallel.ep:
        found.append(caution("CB-K027", "blocking", ep=parallel.ep, ranks=ranks))
    return _refused(found, model, card)


def _refused(found: Sequence[Caution], model: Model, card: Accelerator) -> list[Problem]:
    why = [one.sentence for one in found if one.severity == "blocking"]
    if not why:
        return []
    sizes = ", ".join(str(size) for size in range(1, 17) if _goes(judge_split(Parallel(size), model, card)))
    return [problem("CB-K090", model=model.id, why=why[0], sizes=sizes, layers=model.layers_count)]


def _refused_dealing(deployment: Deployment) -> list[Problem]:
    """Stages that don't hold all layers (CB-K099), ranks that are no copies of one another (CB-K100): vLLM's rules."""
    settings, p, model = deployment.settings, deployment.parallel, deployment.model
    found = []
    stages = settings.layer_partition
    if stages and (len(stages) != p.pp or sum(stages) != model.layers_count):
        dealt, own = sum(stages), model.layers_count
        found.append(problem("CB-K099", model=model.id, stages=len(stages), layers=dealt, pp=p.pp, own=own))
    ranks = settings.decode_context_parallel_size
    headed = [one.kv_heads_count for one in model.attention if one.kind not in ("mla", "linear")]
    heads = max(headed, default=1)
    copies = max(1, p.tp // max(1, heads))
    if ranks > 1 and copies % ranks:
        found.append(problem("CB-K100", ranks=ranks, tp=p.tp, heads=heads, copies=copies))
    return found


def refused_slices(card: Accelerator, count: int) -> list[Problem]:
    """Why ``count`` MIG slices can't work on one thing (CB-K098): they have no way to each other."""
    if card.form_factor != FORM or count < 2:
        return []
    return [problem("CB-K098", name=card.id, count=count, whole=card.id.partition(":")[0])]


def _goes(found: tuple[Caution, ...]) -> bool:
    return all(one.severity != "blocking" for one in found)


def judge_split(
    parallel: Parallel, model: Model, accelerator: Accelerator, node: Node | None = None
) -> tuple[Caution, ...]:
    """The rules of vLLM, SGLang and Megatron: heads, layers and experts divide; tensor parallel stays on its link."""
    p = parallel
    dealt = [*_heads(p, model), *_vocabulary(p, model), *_layers(p, model), *_experts(p, model)]
    return (*dealt, *_link(p, accelerator, node))


def _heads(p: Parallel, model: Model) -> list[Caution]:
    found = []
    for group in model.attention:
        if group.heads_count and group.heads_count % p.tp:
            found.append(caution("CB-K020", "blocking", heads=group.heads_count, tp=p.tp))
        kv = group.kv_heads_count
        if kv and group.kind != "mla" and kv % p.tp and p.tp % kv:
            found.append(caution("CB-K021", "blocking", kv=kv, tp=p.tp))
        elif kv and group.kind != "mla" and p.tp > kv:
            found.append(caution("CB-K022", "info", kv=kv, tp=p.tp, copies=p.tp // kv))
        if group.kind == "mla" and p.tp > 1:
            found.append(caution("CB-K023", "info", tp=p.tp))
    return list({warning.sentence: warning for warning in found}.values())


def _vocabulary(p: Parallel, model: Model) -> list[Caution]:
    """Rows of embedding and head, padded to whole blocks, are dealt out evenly. vLLM vocab_parallel_embedding.py."""
    padded = ceil(model.vocab_count / VOCABULARY_PAD_COUNT) * VOCABULARY_PAD_COUNT
    if padded % p.tp == 0:
        return []
    return [caution("CB-K032", "blocking", vocab=model.vocab_count, padded=padded, tp=p.tp)]


def _layers(p: Parallel, model: Model) -> list[Caution]:
    if p.pp > model.layers_count:
        return [caution("CB-K024", "blocking", pp=p.pp, layers=model.layers_count)]
    return []


def _experts(p: Parallel, model: Model) -> list[Caution]:
    found = _dealt_experts(p, model)
    if p.ep > 1 and not any(one.code == "CB-K025" for one in found) and (p.tp * p.dp) % p.ep:
        found.append(caution("CB-K027", "blocking", ep=p.ep, ranks=p.tp * p.dp))
    return found


def _dealt_experts(p: Parallel, model: Model) -> list[Caution]:
    """Each rank of expert parallelism holds as many whole experts as any other."""
    if p.ep <= 1:
        return []
    experts = {group.experts_count for group in model.mlp if group.experts_count}
    if not experts:
        return [caution("CB-K025", "blocking", ep=p.ep)]
    uneven = [count for count in experts if count % p.ep]
    return [caution("CB-K026", "blocking", ep=p.ep, experts=count) for count in uneven]


def _link(p: Parallel, accelerator: Accelerator, node: Node | None) -> list[Caution]:
    if p.tp <= 1:
        return []
    held = node.accelerators_count if node else 0
    if held and p.tp > held and p.tp > accelerator.link_domain_count:
        return [caution("CB-K028", tp=p.tp, held=held)]
    if accelerator.link_bytes_per_s is None or accelerator.link_domain_count <= 1:
        lanes = accelerator.pcie_lanes or 16
        rate = bus_bytes_per_s(accelerator) / 1e9
        return [
            caution(
                "CB-K029", "warning", tp=p.tp, name=accelerator.name, gen=accelerator.pcie_gen or "?", lanes=lanes,
                rate=number(rate, 2),
            )
        ]  # fmt: skip
    if p.tp > accelerator.link_domain_count:
        domain = accelerator.link_domain_count
        return [caution("CB-K030", tp=p.tp, name=accelerator.name, domain=domain)]
    return []


def bus_bytes_per_s(accelerator: Accelerator) -> float:
    """One-way PCIe rate: 985 MB/s a lane at generation 3, doubling with each; generation 4 when unknown."""
    generation = accelerator.pcie_gen or 4
    return 0.985e9 * 2.0 ** (generation - 3) * (accelerator.pcie_lanes or 16)
