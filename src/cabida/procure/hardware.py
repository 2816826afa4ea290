"""Whether what an offer says of its hardware can be: against the data sheets, and against itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cabida.checks.claims import named_cards, sparse_claims
from cabida.facts.hardware import accelerators
from cabida.facts.model import Accelerator
from cabida.procure.nouns import Finding, Read
from cabida.procure.subject import Subject, form_of, shown
from cabida.text import number, tr

NEAR_RATIO = 0.03
GIB_PER_GB = 1e9 / 2**30
TFLOP, GB = 1e12, 1e9
EXPORT = {
    "a800": "A100",
    "h800": "H100",
    "h20": "H100",
    "l20": "L40S",
    "4090 d": "RTX 4090",
    "4090d": "RTX 4090",
}
_FORM_WORDS = re.compile(r"\b(SXM\d?|PCI-?e|PCI Express|NVL(?!72|36|16|8)\b|OAM)", re.IGNORECASE)
_HALL = re.compile(r"data ?cent(re|er)|coloc|\bhall\b|server room|centro de datos|\bCPD\b", re.IGNORECASE)
_USABLE = re.compile(
    r"(?:usable|utilizable|útil|available|disponible)[^.;\d]{0,40}?(\d+(?:[.,]\d+)?)\s*GiB", re.IGNORECASE
)


def unknown_part(s: Subject) -> Iterator[Finding]:
    """A name that stands for no single part in the catalogue."""
    if s.quote.accelerator and s.card is None:
        near = named_cards(s.quote.accelerator)
        yield s.find(
            "CB-Q120", "important", ("accelerator", "form_factor"), name=s.quote.accelerator,
            near=", ".join(one.name for one in near[:4]) or tr("procure.none"),
        )  # fmt: skip


def form_named(s: Subject) -> Iterator[Finding]:
    """One form named, another described: SXM, PCIe and NVL differ in power, speed, memory and links."""
    said: dict[str, Read] = {}
    if s.quote.form_factor in ("SXM", "PCIe", "NVL", "OAM"):
        said[s.quote.form_factor] = s.read("form_factor")
    places = [
        one
        for one in s.texts
        if one.field in ("accelerator", "accelerator_sku", "items", "", "unit_price", "notes")
    ]
    for read in places:
        text = (
            read.shown
            if read.field in ("accelerator", "accelerator_sku", "notes")
            else read.quoted or read.shown
        )
        if read.field in ("", "items", "notes") and not _about_card(s, text):
            continue
        for word in _FORM_WORDS.findall(text):
            said.setdefault(_form(word), read)
    said.pop("", None)
    if {"NVL", "PCIe"} == set(said):  # an NVL card is a PCIe card
        return
    if len(said) > 1:
        listed = "; ".join(f"{form} ({read.where or read.field})" for form, read in said.items())
        yield s.find("CB-Q121", "blocking", (), *said.values(), forms=" / ".join(said), listed=listed)


def _about_card(s: Subject, text: str) -> bool:
    """Whether a sentence speaks of accelerators: a network card has a form too."""
    if s.card is None:
        return False
    model = re.split(r"\s+", re.sub(r"^(NVIDIA|AMD|GeForce|Instinct)\s+", "", s.card.name))[0].lower()
    return model in text.lower()


def _form(word: str) -> str:
    plain = word.upper().replace("-", "")
    return "SXM" if plain.startswith("SXM") else "PCIe" if plain.startswith("PCI") else plain


def figures(s: Subject) -> Iterator[Finding]:
    """Power, bandwidth and memory against the part named; where they are another form's, which."""
    card, q = s.card, s.quote
    if card is None:
        return
    for name, said, sheet in (
        ("accelerator_power_w", q.accelerator_power_w, card.tdp_w),
        (
            "memory_bandwidth_gb_per_s",
            q.memory_bandwidth_gb_per_s,
            (card.memory_bytes_per_s or 0) / GB or None,
        ),
        ("accelerator_memory_gb", q.accelerator_memory_gb, card.label_memory_bytes / 2**30),
    ):
        if said is None or sheet is None or _like(said, sheet):
            continue
        if name == "accelerator_power_w" and said < sheet:
            twin = _twin(card, name, said)
            code, severity = ("CB-Q122", "blocking") if twin else ("CB-Q123", "important")
        elif name == "accelerator_memory_gb" and abs(said / sheet - 1) < 0.1:
            continue  # B200: 180, 186 and 192 GB are all printed of it
        else:
            twin, code, severity = _twin(card, name, said), "CB-Q122", "blocking"
        yield s.find(
            code, severity, (name, "accelerator", "form_factor"), name=card.name, said=shown(name, said),
            sheet=shown(name, round(sheet)), twin=tr("procure.hint.twin", name=twin.name) if twin else "",
        )  # fmt: skip


def _like(said: float, sheet: float) -> bool:
    return abs(said / sheet - 1) <= NEAR_RATIO if sheet else True


def _twin(card: Accelerator, name: str, said: float) -> Accelerator | None:
    """A part of the same generation and first word of name of which the figure is true."""

    def of(one: Accelerator) -> float | None:
        if name == "accelerator_power_w":
            return one.tdp_w
        if name == "memory_bandwidth_gb_per_s":
            return (one.memory_bytes_per_s or 0) / GB or None
        return one.label_memory_bytes / 2**30

    family = card.id.split("-")[0]
    others = [
        one for one in accelerators().values() if one.architecture == card.architecture and one.id != card.id
    ]
    fits = [one for one in others if (value := of(one)) and _like(said, value)]
    return next((one for one in fits if one.id.split("-")[0] == family), None)


def usable_memory(s: Subject) -> Iterator[Finding]:
    """Usable memory that is the label, or more than the driver shows."""
    card, said = s.card, s.quote.accelerator_memory_usable_gib
    label = s.quote.accelerator_memory_gb or (card.label_memory_bytes / 2**30 if card else None)
    if said is None:
        yield from _usable_told(s)
        return
    shows = card.usable_bytes / 2**30 if card else None
    if shows and said > shows * 1.002:
        yield s.find(
            "CB-Q124", "important", ("accelerator_memory_usable_gib", "accelerator_memory_gb"), said=number(said, 5),
            shows=number(shows, 4), name=card.name if card else "", label=number(label or 0, 4),
        )  # fmt: skip
    elif label and said > label * 1.0001:
        yield s.find("CB-Q125", "important", ("accelerator_memory_usable_gib", "accelerator_memory_gb"),
                     said=number(said, 5), label=number(label, 5))  # fmt: skip
    elif shows and said < 0.9 * shows:
        yield s.find("CB-Q126", "important", ("accelerator_memory_usable_gib",), said=number(said, 5),
                     shows=number(shows, 5), name=card.name if card else "",
                     off=number(shows - said, 3))  # fmt: skip


def _usable_told(s: Subject) -> Iterator[Finding]:
    """The same, said in a sentence only."""
    card = s.card
    for read in s.texts if card is not None else ():
        found = _USABLE.search(read.quoted or read.shown)
        if card is None or not found:
            continue
        said, shows = float(found[1].replace(",", ".")), card.usable_bytes / 2**30
        if said > shows * 1.002:
            yield s.find(
                "CB-Q124",
                "useful",
                ("accelerator_memory_gb",),
                read,
                said=number(said, 5),
                shows=number(shows, 3),
                name=card.name,
                label=number(card.label_memory_bytes / 2**30, 4),
            )
            return


def rates(s: Subject) -> Iterator[Finding]:
    """TFLOPS: sparse said as dense, beyond any figure of the part, or another part's."""
    card, q = s.card, s.quote
    if card is not None and q.tflops is not None:
        types = [q.tflops_precision] if q.tflops_precision else [*card.flop_per_s]
        dense = {name: card.flop_per_s[name] / TFLOP for name in types if name and name in card.flop_per_s}
        fits = [name for name, rate in dense.items() if _like(q.tflops, rate)]
        sparse = [name for name, rate in dense.items() if _like(q.tflops, 2 * rate)]
        fields = ("tflops", "tflops_precision", "tflops_sparse", "accelerator")
        if sparse and not fits and not q.tflops_sparse:
            yield s.find("CB-Q127", "blocking", fields, said=number(q.tflops, 5), type=sparse[0].upper(),
                         dense=number(dense[sparse[0]], 4), name=card.name)  # fmt: skip
        elif dense and not fits and not sparse and q.tflops > max(dense.values()) * (1 + NEAR_RATIO):
            most = max(dense, key=lambda name: dense[name])
            yield s.find("CB-Q128", "blocking", fields, said=number(q.tflops, 5), type=most.upper(),
                         dense=number(dense[most], 4), name=card.name)  # fmt: skip
        elif q.tflops_precision and dense and not fits and not sparse:
            name = q.tflops_precision
            yield s.find("CB-Q129", "important", fields, said=number(q.tflops, 5), type=name.upper(),
                         dense=number(dense[name], 4), name=card.name)  # fmt: skip
        elif q.tflops_sparse and fits and not sparse and q.tflops_precision:
            yield s.find("CB-Q130", "useful", fields, said=number(q.tflops, 5), type=q.tflops_precision.upper(),
                         name=card.name)  # fmt: skip
        if q.tflops_sparse is False and sparse and not fits:
            return
    if q.tflops is not None:
        return
    for read in s.texts:
        for claim in sparse_claims(_with_part(s, read.quoted or read.shown)):
            yield s.find("CB-Q127", "blocking", (), read, said=number(claim.said_tflops, 5), type=claim.dtype.upper(),
                         dense=number(claim.dense_tflops, 4), name=claim.name)  # fmt: skip
            return


def _with_part(s: Subject, text: str) -> str:
    """A sentence that names no part speaks of the one the offer is about."""
    return text if named_cards(text) or s.card is None else f"{s.card.name.split(' ', 1)[0]} {text}"


def gemm_floor(s: Subject) -> Iterator[Finding]:
    """A floor of acceptance that the part can't reach, or that means nothing."""
    card, said = s.card, s.quote.gemm_tflops
    dense = card.flop_per_s.get("bf16") if card else None
    if card is None or said is None or not dense:
        return
    best = dense / TFLOP * (card.matmul_ratio or 1.0)
    if said > dense / TFLOP * (1 + NEAR_RATIO) and not any(
        said <= rate / TFLOP for rate in card.flop_per_s.values()
    ):
        yield s.find("CB-Q131", "important", ("gemm_tflops",), said=number(said, 5), dense=number(dense / TFLOP, 5),
                     name=card.name)  # fmt: skip
    elif said < 0.5 * best:
        yield s.find("CB-Q132", "useful", ("gemm_tflops",), said=number(said, 4), best=number(best, 4),
                     name=card.name)  # fmt: skip


def links(s: Subject) -> Iterator[Finding]:
    """NVLink on a part without, faster than it is, or missing where the form has it."""
    card, q = s.card, s.quote
    if card is None:
        return
    has = "nvlink" in card.link_kind
    said = q.nvlink or (q.nvlink_gb_per_s or 0) > 0
    if said and not has:
        yield s.find("CB-Q133", "blocking", ("nvlink", "nvlink_gb_per_s", "accelerator"), name=card.name)
        return
    if not said and not has:
        for read in s.texts:
            text = read.quoted or read.shown
            if (
                read.field != "nvlink"
                and re.search(r"\bnv-?(link|switch)\b", text, re.IGNORECASE)
                and not _denied(text)
            ):
                yield s.find("CB-Q133", "blocking", ("accelerator",), read, name=card.name)
                return
    if q.nvlink is False and has and form_of(card) == "SXM":
        yield s.find("CB-Q134", "blocking", ("nvlink", "form_factor"), name=card.name)
    rate = (card.link_bytes_per_s or 0) / GB
    if q.nvlink_gb_per_s and rate and has:
        most = 2 * rate  # printed both ways
        if q.nvlink_gb_per_s > most * (1 + NEAR_RATIO):
            yield s.find("CB-Q135", "blocking", ("nvlink_gb_per_s",), said=number(q.nvlink_gb_per_s, 5),
                         one=number(rate, 4), both=number(most, 4), name=card.name)  # fmt: skip
        elif not _like(q.nvlink_gb_per_s, most) and not _like(q.nvlink_gb_per_s, rate):
            yield s.find("CB-Q136", "important", ("nvlink_gb_per_s",), said=number(q.nvlink_gb_per_s, 5),
                         one=number(rate, 4), both=number(most, 4), name=card.name)  # fmt: skip


def _denied(text: str) -> bool:
    return bool(re.search(r"\b(no|not|without|sin|none|n/a|ningún)\b", text, re.IGNORECASE))


def export_variants(s: Subject) -> Iterator[Finding]:
    """A part made for export controls: less compute or a slower link than the name it is near to."""
    for read in s.texts:
        text = (read.quoted or read.shown).lower()
        for word, whole in EXPORT.items():
            if re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text):
                yield s.find("CB-Q137", "blocking", ("accelerator",), read, name=word.upper(), whole=whole,
                             less=tr(f"procure.export.{word.split()[0].removesuffix('d')}"))  # fmt: skip
                return


def named_twice(s: Subject) -> Iterator[Finding]:
    """Another part in the lines or the SKU than the one offered."""
    card = s.card
    if card is None:
        return
    family = card.id.split("-")[0]
    for read in s.texts:
        if read.field not in ("items", "accelerator_sku"):
            continue
        others = {one.id.split("-")[0]: one for one in named_cards(read.shown)}
        if others and family not in others:
            other = next(iter(others.values()))
            yield s.find("CB-Q138", "blocking", ("accelerator",), read, name=card.name, other=other.name)
            return


def abilities(s: Subject) -> Iterator[Finding]:
    """ECC and MIG on parts that have none; a GeForce in somebody's data centre."""
    card, q = s.card, s.quote
    if card is None:
        return
    if q.ecc and card.ecc is False:
        yield s.find("CB-Q139", "important", ("ecc", "accelerator"), name=card.name)
    if q.mig and card.mig_instances_count is None and card.vendor == "NVIDIA":
        yield s.find("CB-Q140", "important", ("mig", "accelerator"), name=card.name)
    hosted = s.purpose in ("rent", "reserve", "cluster") or any(
        _HALL.search(one.quoted or one.shown) for one in s.texts
    )
    if card.segment == "consumer" and hosted and card.vendor == "NVIDIA":
        yield s.find("CB-Q141", "important", ("accelerator",), kind="trap", name=card.name)


RULES = (
    unknown_part, form_named, figures, usable_memory, rates, gemm_floor, links, export_variants, named_twice, abilities,
)  # fmt: skip
