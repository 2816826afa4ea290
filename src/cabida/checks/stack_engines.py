"""Each engine of a stack: on each card, in the weights and the cache named, and against the release that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cabida import facts
from cabida.checks.sentences import caution
from cabida.checks.software import GGUF_ENGINES, Stack, engines_for, judge
from cabida.checks.stack_builds import carried, judge_driver, minor
from cabida.checks.stack_parts import Place, part_at, sourced
from cabida.checks.stack_words import SoftwareStack
from cabida.facts.model import Accelerator, Engine, WeightFormat
from cabida.facts.releases import every_release, numbers, release_at, releases, same
from cabida.facts.stacks import Release
from cabida.plan import Caution
from cabida.text import tr

OLD_BF16 = ("volta", "turing", "pascal")
REFUSES_BF16 = ("vllm",)  # won't start in it; others compute slowly


def engines(stack: SoftwareStack) -> Iterator[Caution]:
    """Each engine on each card, in the weights named or in 16 bit."""
    held, cache = stack.weights or facts.weight_format("bf16"), stack.kv_cache or facts.weight_format("bf16")
    for id, version in stack.engines.items():
        engine = facts.engine(id)
        if "int8-w4a8" in stack.parts:
            continue
        for card in stack.cards:
            row = part_at(id, Place(card, stack.system))
            if row is not None and row.state != "runs" and (row.state == "no" or row.places):
                continue  # said by its own row: not on this system, or through a plugin
            weights = facts.weight_format("q4_k_m") if id in GGUF_ENGINES and not stack.weights else held
            verdict = judge(Stack(engine, version or _usual(engine, stack.as_of), card, weights, cache))
            severity = {"no": "blocking", "steps": "warning"}.get(verdict.state, "info")
            source = f"{verdict.source} · {engine.source.seen}"
            yield Caution("CB-K073", verdict.sentence, severity, source=source)
            yield from _half(stack, card, engine)
    if stack.cards and not stack.engines and not (stack.parts.keys() - {"mig", "peer", "nvlink", "ecc"}):
        names = engines_for(stack.cards[0], held)
        values = {
            "name": stack.cards[0].name,
            "weights": held.id,
            "engines": ", ".join(names) or tr("checks.none"),
        }
        yield caution("CB-K074", "info", **values)


def _usual(engine: Engine, as_of: str) -> str:
    """The version meant where none is named: the newest known, or the newest that was out by ``as_of``."""
    newest, known = engine.versions[-1], releases(engine.id, as_of)
    later = any(same(one.version, newest) for one in releases(engine.id) if one not in known)
    if later and known:
        return known[-1].version
    return newest if _not_yet(engine.id, newest, as_of) is None else releases(engine.id)[0].version


def _half(stack: SoftwareStack, card: Accelerator, engine: Engine) -> Iterator[Caution]:
    """A chip without bf16 computes 16-bit models in fp16, when told so."""
    asked = stack.weights is not None and stack.weights.id == "bf16"
    if asked and card.architecture.lower() in OLD_BF16 and engine.id not in GGUF_ENGINES:
        source = "vllm-project/vllm#1157 (bfloat16 from capability 8.0: --dtype half) · 2026-11-30"
        values = {"name": card.name, "capability": card.capability, "engine": engine.name}
        severity = "blocking" if engine.id in REFUSES_BF16 else "warning"
        yield sourced(caution("CB-K220", severity, **values), source)


def formats(stack: SoftwareStack) -> Iterator[Caution]:
    """A weight format on a card when no engine is named: whether the chip computes in it, and what runs it."""
    held = stack.weights
    if held is None or stack.engines:
        return
    rows = facts.software()["hw_dtype"]
    for card in stack.cards:
        kind = _kind(held)
        row = rows.get(card.architecture.lower(), {})
        answer = row.get(kind, row.get("fp4") if held.family == "fp4" else None) if kind else None
        values = {"name": card.name, "weights": held.id, "dtype": (kind or held.compute).upper()}
        able = engines_for(card, held)
        values["engines"] = ", ".join(able) or tr("checks.none")
        source = "NVIDIA, AMD and Transformer Engine tables of data types by architecture · 2026-11-30"
        if kind == "int8" and card.capability == "10.3":
            yield sourced(caution("CB-K221", "blocking" if not able else "warning", **values), source)
        elif kind == "bf16" and answer is False:
            yield sourced(caution("CB-K222", "warning", **values), source)
        elif answer is False:
            yield sourced(caution("CB-K223", "warning" if able else "blocking", **values), source)
        elif not able:
            yield sourced(caution("CB-K224", "blocking", **values), source)
        elif isinstance(answer, str) and "FNUZ" in answer:
            yield sourced(caution("CB-K225", "warning", **values), source)


def _kind(held: WeightFormat) -> str:
    if held.id == "bf16":
        return "bf16"
    if held.family == "fp4":
        return "mxfp4" if "mxfp4" in held.id else "nvfp4"
    if held.family == "fp8":
        return "fp8"
    return "int8" if held.compute == "int8" else ""


def release_rules(stack: SoftwareStack) -> Iterator[Caution]:
    """Each engine or library against the release it is: its day, Python, PyTorch, CUDA, driver and processor."""
    for id, version in {**stack.engines, **stack.parts}.items():
        if not releases(id):
            continue
        title = facts.engines()[id].name if id in facts.engines() else id
        if version and (late := _not_yet(id, version, stack.as_of)) is not None:
            values = {"name": title, "version": version, "day": stack.as_of, "out": late.known_by}
            near = release_at(id, "", stack.as_of)
            values["near"] = near.version if near else tr("checks.none")
            yield sourced(caution("CB-K230", "blocking", **values), late.source)
            continue
        row = release_at(id, version, stack.as_of)
        if row is None:
            continue
        latest = releases(id, stack.as_of)[-1]
        if version and numbers(version) > numbers(latest.version):
            values = {"name": title, "version": version, "taken": latest.version}
            yield sourced(caution("CB-K217", "info", **values), latest.source)
        yield from _floors(stack, row, title, version)


def _not_yet(id: str, version: str, as_of: str) -> Release | None:
    """The release a version is, when it was out only after ``as_of``."""
    if not as_of:
        return None
    exact = [one for one in every_release() if one.name == id and same(one.version, version)]
    return next((one for one in exact if one.released and one.known_by > as_of), None)


def _floors(stack: SoftwareStack, row: Release, title: str, version: str) -> Iterator[Caution]:
    values = {"name": title, "version": version or row.version}
    python = stack.versions.get("python", "")
    if python and row.python and not _within(python, row.python):
        yield sourced(caution("CB-K231", "blocking", **values, wanted=row.python, have=python), row.source)
    torch = stack.versions.get("pytorch", "")
    if version and torch and row.torch and minor(torch) != minor(row.torch):
        near = next(
            (
                one.version
                for one in reversed(releases(row.name, stack.as_of))
                if minor(one.torch) == minor(torch)
            ),
            "",
        )
        near = f"{title} {near}" if near else tr("checks.none")
        yield sourced(
            caution("CB-K232", "blocking", **values, wanted=row.torch, have=torch, near=near), row.source
        )
    if stack.nvidia or not stack.cards:
        yield from _cuda(stack, row, values, version)
    if stack.processor and row.processors and stack.processor not in row.processors:
        yield sourced(
            caution(
                "CB-K236", "warning", **values, processor=stack.processor, built=", ".join(row.processors)
            ),
            row.source,
        )
    rocm = stack.versions.get("rocm", "")
    wanted = _rocm_floor(stack, row)
    if stack.amd and rocm and wanted and numbers(rocm) < numbers(wanted):
        yield sourced(caution("CB-K237", "blocking", **values, wanted=wanted, have=rocm), row.source)
    if stack.amd and row.name == "vllm" and python and numbers(python)[:2] != (3, 12):
        yield sourced(caution("CB-K239", "warning", **values, have=python), ROCM_WHEELS)


ROCM_WHEELS = "vLLM docs/getting_started/installation/gpu.rocm.inc.md, prebuilt wheels · 2026-12-01"


def _rocm_floor(stack: SoftwareStack, row: Release) -> str:
    """The least ROCm: of the chip where the engine's page says so, else of the release."""
    chips: dict[str, str] = facts.software()["vllm"]["rocm_min"] if row.name == "vllm" else {}
    floors = [chips[card.capability] for card in stack.amd if card.capability in chips]
    return max([*floors, row.rocm or chips.get("default", "")], key=numbers)


def _cuda(stack: SoftwareStack, row: Release, values: dict[str, str], version: str) -> Iterator[Caution]:
    """The toolkit that the release's wheels bring, and the driver that carries it."""
    cuda, driver = stack.versions.get("cuda", ""), stack.versions.get("driver", "")
    if not row.cuda:
        return
    built = ", ".join(row.cuda)
    families = {one.partition(".")[0] for one in row.cuda}
    if cuda and cuda.partition(".")[0] not in families:
        older = [
            one
            for one in releases(row.name, stack.as_of)
            if any(c.startswith(cuda.partition(".")[0]) for c in one.cuda)
        ]
        near = f"{values['name']} {older[-1].version}" if older else tr("checks.none")
        yield sourced(caution("CB-K233", "blocking", **values, cuda=cuda, built=built, near=near), row.source)
        return
    if cuda and not any(minor(one) == minor(cuda) for one in row.cuda) and version:
        yield sourced(caution("CB-K234", "info", **values, cuda=cuda, built=built), row.source)
    if driver[:1].isdigit() and not cuda and (stack.nvidia or "driver" in stack.versions):
        yield from _driver(stack, row, values, driver)


def _driver(stack: SoftwareStack, row: Release, values: dict[str, str], driver: str) -> Iterator[Caution]:
    """Of the release's builds, the one that the driver runs with the least ado."""
    found = _by_ado(stack, row, driver)
    ado, flavour, told = found[0]
    if ado == 0 and flavour == row.cuda[0]:
        return
    if ado == NEVER:
        near = [
            one
            for one in releases(row.name, stack.as_of)
            if one.cuda and _by_ado(stack, one, driver)[0][0] < NEVER
        ]
        older = f"{values['name']} {near[-1].version}" if near else tr("checks.none")
        best = carried(driver, 1 if stack.system == "windows" else 0)
        more = {"usual": row.cuda[0], "driver": driver, "best": best, "near": older}
        yield sourced(caution("CB-K238", "blocking", **values, **more), row.source)
        return
    if flavour != row.cuda[0]:
        more = {
            "usual": row.cuda[0],
            "able": flavour,
            "driver": driver,
            "flag": f"cu{flavour.replace('.', '')}",
        }
        yield sourced(caution("CB-K235", "warning", **values, **more), row.source)
    yield from told


def flavour_of(stack: SoftwareStack, id: str, version: str) -> str:
    """The CUDA to install an engine for: the one named, else the one its driver runs with the least ado; "" = any."""
    row = release_at(id, version, stack.as_of)
    cuda, driver = stack.versions.get("cuda", ""), stack.versions.get("driver", "")
    if row is None or not row.cuda:
        return ""
    if cuda and any(minor(one) == minor(cuda) for one in row.cuda):
        return minor(cuda)
    return _by_ado(stack, row, driver)[0][1] if driver[:1].isdigit() else ""


NEVER = 3  # worse than as it is (0), by minor-version compatibility (1), with the compatibility package (2)


def _by_ado(stack: SoftwareStack, row: Release, driver: str) -> list[tuple[int, str, list[Caution]]]:
    column = 1 if stack.system == "windows" else 0
    found = []
    for flavour in row.cuda:
        told = list(judge_driver(stack, flavour, driver, column))
        never = any(one.severity == "blocking" for one in told)
        ado = NEVER if never else max((1 if one.code == "CB-K210" else 2 for one in told), default=0)
        found.append((ado, flavour, told))
    return sorted(found, key=lambda one: one[0])


def _within(have: str, wanted: str) -> bool:
    """Whether a Python is inside ``>=3.10 <3.15``."""
    for sign, version in re.findall(r"([<>]=?)\s*([\d.]+)", wanted):
        floor = numbers(version)
        own = numbers(have)[: len(floor)]
        if (sign == ">=" and own < floor) or (sign == "<" and own >= floor) or (sign == "<=" and own > floor):
            return False
    return True
