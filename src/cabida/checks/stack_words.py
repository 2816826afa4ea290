"""A software stack read from words or a file: parts, versions, cards and how many, formats, system and processor."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from cabida import facts
from cabida.errors import InvalidInput
from cabida.facts.formats import find_format
from cabida.facts.hardware import find_accelerator
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.text import number, problem

MOST_CHARS = 4000  # of a stack in words
SHORTEST_MODEL = 6  # characters of a name that is looked for in a text
VERSIONED = {  # part -> the words people use for it
    "pytorch": r"(?:py)?torch",
    "cuda": r"cuda(?:[ -]?toolkit)?|cu(?=1\d)",
    "driver": r"(?:nvidia[ -]?)?drivers?|controlador|(?<![a-z])r(?=[3-6]\d\d\b)",
    "rocm": r"rocm",
    "python": r"python",
    "bitsandbytes": r"bitsandbytes|bnb",
    "tensorflow": r"tensorflow",
    "jax": r"jax",
    "deepspeed": r"deepspeed",
    "macos": r"mac ?os(?: x)?",
}
NAMED = {  # rows of the facts' parts -> the words people use for them
    "flashinfer": r"flash ?infer",
    "triton": r"triton(?! inference)",
    "torch-compile": r"torch\.compile",
    "xformers": r"x-?formers",
    "aiter": r"aiter",
    "flashmla": r"flash ?mla",
    "marlin": r"(?:awq|gptq|fp8|fp4|mxfp4|nvfp4)?[_-]?marlin",
    "transformer-engine": r"transformer[ -]?engine",
    "fsdp": r"fsdp2?",
    "nccl": r"nccl",
    "mlx": r"mlx(?:-lm)?",
    "vulkan": r"vulkan",
    "sycl": r"sycl|one ?api",
    "metal": r"metal",
    "tgi": r"tgi|text[ -]generation[ -]inference",
    "peer": r"p2p|peer[- ]to[- ]peer|peer access",
    "nvlink": r"nv-?link",
    "mig": r"mig",
    "ecc": r"ecc",
    "vgpu": r"vgpu",
    "forward-compat": r"cuda[ -]compat\w*|forward[ -]compat\w*",
    "gpudirect-rdma": r"gpudirect(?:[ -]rdma)?",
    "open-modules": r"open (?:gpu )?kernel modules?|nvidia-open",
    "proprietary-modules": r"proprietary (?:kernel )?(?:modules?|driver)",
    "float64": r"float64|fp64|double precision",
    "int8-w4a8": r"int8[ _-]w4a8|w4a8[ _-]int8",
    "aqlm": r"aqlm",
    "bitblas": r"bitblas",
    "data-centre": r"data[ -]?cent(?:re|er)s?|centros? de datos|colocation|hosting",
    "licence": r"licen[cs]e|eula|licencia",
    "tensor-parallel": r"tensor[ -]parallel(?:ism)?|tp ?=? ?\d|--tensor-parallel-size",
}
SYSTEMS = {
    "wsl": r"wsl ?2?",
    "windows": r"windows|win1[01]",
    "mac": r"mac(?:os| ?studio| ?mini|book)?",
    "linux": r"linux|ubuntu|debian|rhel|rocky",
}
PROCESSORS = {"aarch64": r"aarch64|arm64|sbsa|grace", "x86_64": r"x86[_-]64|amd64"}
ARM_CARDS = ("gh200", "gb200", "gb300", "gb10", "jetson")  # their host is one chip with them
ALIASES = {
    "llama.cpp": r"llama[. -]?cpp",
    "tensorrt-llm": r"tensorrt[- ]llm|trt-?llm",
    "exllamav2": r"exllama\w*",
}
COUNTS = {
    "two": 2,
    "dual": 2,
    "pair of": 2,
    "dos": 2,
    "three": 3,
    "four": 4,
    "quad": 4,
    "cuatro": 4,
    "eight": 8,
}
_GENERATION = re.compile(
    r"(?:flash[-_ ]?att(?:entio)?n(?:tion)?[-_ ]?v?|(?<![a-z])fa[- ]?)(\d(?:\.\d+)*)?", re.I
)
_SLICE = re.compile(r"\b\d+g\.\d+gb\b", re.I)


@dataclass(frozen=True, slots=True)
class SoftwareStack:
    """What a line of text names."""

    versions: dict[str, str]  # part -> version, "" when only named
    engines: dict[str, str] = field(default_factory=dict)  # engine id -> version
    cards: tuple[Accelerator, ...] = ()
    weights: WeightFormat | None = None
    system: str = ""
    parts: dict[str, str] = field(
        default_factory=dict
    )  # name of the facts' part -> version, "" when only named
    kv_cache: WeightFormat | None = None
    count: int = 1  # of the cards
    processor: str = ""  # x86_64, aarch64
    head_dim: int = 0  # of the model's attention; 0 = not said
    params_count: float = 0.0  # of the model; 0 = not said
    model: str = ""  # id of a known model that is named
    as_of: str = ""  # ISO date; what was released later doesn't exist
    detected: bool = False  # seen on this machine, not told

    @property
    def nvidia(self) -> list[Accelerator]:
        """Cards with a CUDA compute capability."""
        return [card for card in self.cards if card.vendor == "NVIDIA"]

    @property
    def amd(self) -> list[Accelerator]:
        """Cards with a gfx name."""
        return [card for card in self.cards if card.vendor == "AMD"]


def read_stack(text: str, as_of: str = "") -> SoftwareStack:
    """The parts, versions, cards, weight format, operating system and processor that ``text`` names.

    Raises:
        InvalidInput: CB-K060, nothing in it is known; CB-K059, it is too long to be a stack.
    """
    if len(text) > MOST_CHARS:
        raise InvalidInput(problem("CB-K059", chars=number(len(text), 9), most=number(MOST_CHARS, 9)))
    versions = {
        part: found for part, words in VERSIONED.items() if (found := _version(text, words)) is not None
    }
    if "cuda" in versions:
        versions["cuda"] = _cuda(versions["cuda"])
    engines = {
        id: found
        for id in facts.engines()
        if (found := _version(text, ALIASES.get(id, _spelled(id)))) is not None
    }
    parts = {name: found for name, words in NAMED.items() if (found := _version(text, words)) is not None}
    parts |= _flash_attention(text) | {name: versions[name] for name in versions if name in LIBRARIES}
    if _SLICE.search(text):
        parts.setdefault("mig", "")
    cards = _cards(text)
    model = _model(text)
    system = next((name for name, words in SYSTEMS.items() if _has(text, words)), "")
    weights, cache = _formats(text)
    if not (versions or engines or cards or parts.keys() - {"licence", "data-centre"}):
        raise InvalidInput(problem("CB-K060", text=text.strip()[:60]))
    return SoftwareStack(
        versions,
        engines,
        cards,
        weights,
        system or ("mac" if any(card.vendor == "Apple" for card in cards) else ""),
        parts,
        cache,
        _count(text),
        _processor(text, cards),
        _number(text, r"head[ _-]?(?:dim\w*|size)\D{0,12}(\d{2,4})") or _widest_head(model),
        _params(text) or (model.params_count or 0.0 if model else 0.0),
        model.id if model else "",
        as_of,
    )


LIBRARIES = ("bitsandbytes", "tensorflow", "jax", "deepspeed")


def _spelled(id: str) -> str:
    return rf"{re.escape(id)}|{re.escape(id.replace('-', ' '))}"


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w-])(?:{words})(?![\w-])", text, re.IGNORECASE) is not None


def _version(text: str, words: str) -> str | None:
    """The version after a name, "" when it stands alone, ``None`` when it is not there."""
    found = re.search(
        rf"(?<![\w-])(?:{words})(?:[ =:v<>~]*(?:version |branch |r)?([vb]?\d[\w.]*))?(?![\w-])",
        text,
        re.IGNORECASE,
    )
    return (found.group(1) or "").rstrip(".").lstrip("vV") if found else None


def _cuda(version: str) -> str:
    """``cu124`` and ``cu12.4`` as 12.4."""
    return f"{version[:2]}.{version[2:]}" if re.fullmatch(r"1\d\d", version) else version


def _flash_attention(text: str) -> dict[str, str]:
    found = [match[1] or "" for match in _GENERATION.finditer(text)]
    return {f"flash-attention-{(one or '2')[0]}": one for one in found if (one or "2")[0] in "1234"}


def _processor(text: str, cards: tuple[Accelerator, ...]) -> str:
    said = next((name for name, words in PROCESSORS.items() if _has(text, words)), "")
    return said or ("aarch64" if any(card.id.startswith(ARM_CARDS) for card in cards) else "")


def _number(text: str, pattern: str) -> int:
    found = re.search(pattern, text, re.IGNORECASE)
    return int(found[1]) if found else 0


def _params(text: str) -> float:
    """Billions of parameters, as in the names of models: ``8B``, ``8x7B``, ``1.5B``."""
    found = re.search(r"(?<![\w.])(?:(\d{1,2})x)?(\d{1,4}(?:\.\d+)?) ?B(?![\w])", text)
    return float(found[1] or 1) * float(found[2]) * 1e9 if found else 0.0


def _model(text: str) -> Model | None:
    """The model with the longest name that stands in a text."""
    plain = f" {re.sub(r'[^a-z0-9]+', ' ', text.lower())} "
    named = [(name, id) for name, id in _model_names() if f" {name} " in plain]
    return facts.models()[max(named, key=lambda one: len(one[0]))[1]] if named else None


@cache
def _model_names() -> tuple[tuple[str, str], ...]:
    """Names of models as plain words, and their ids; short ones and mere numbers left out."""
    found: dict[str, str] = {}
    for id, model in facts.models().items():
        for name in (id, *model.aliases):
            plain = re.sub(r"[^a-z0-9]+", " ", name.rpartition("/")[2].lower()).strip()
            if len(plain) >= SHORTEST_MODEL and any(char.isalpha() for char in plain):
                found.setdefault(plain, id)
    return tuple(found.items())


def _widest_head(model: Model | None) -> int:
    """Dimensions of the widest head that a kernel has to take; compressed attention has its own kernels."""
    heads = (
        [one.head_dim_count for one in model.attention if one.kind not in ("mla", "linear")] if model else []
    )
    return int(max(heads, default=0))


def _count(text: str) -> int:
    """How many cards: ``2x RTX 4090``, ``RTX 4090 x2``, ``two``; ``tp 2``."""
    plain = re.sub(r"\d+x\d+(?:\.\d+)?b\b|pcie[^,;]*|gen ?\d ?x\d+", " ", text.lower())
    said = [int(one) for one in re.findall(r"(?<![\w.])(\d{1,3}) ?[x×] ?(?=[a-z]|\d{4})", plain)]
    said += [int(one) for one in re.findall(r"(?<=[\w)]) ?[x×] ?(\d{1,2})(?![\w.])", plain)]
    said += [
        int(one)
        for one in re.findall(r"\btp ?=? ?(\d{1,2})\b|tensor[ -]parallel\w*\D{0,8}(\d{1,2})\b", plain)
        for one in one
        if one
    ]
    said += [count for word, count in COUNTS.items() if re.search(rf"\b{word}\b", plain)]
    return max([1, *(one for one in said if 1 <= one <= 4096)])


def _formats(text: str) -> tuple[WeightFormat | None, WeightFormat | None]:
    """The weight format and the cache's that a text names."""
    plain = text.replace("/", " ")
    cache = re.search(
        r"\b(fp8|int8|int4|bf16|fp16)(?:[_ -]?e[45]m[32])?[ -]*kv|kv[ -_]?cache(?:[ -]dtype)?\W{0,3}(fp8|int8)",
        plain,
        re.I,
    )
    kept = find_format((cache[1] or cache[2]).lower()) if cache else None
    if cache:
        plain = plain.replace(cache[0], " ")
    words = re.split(r"[\s,;+()]+", plain)
    pairs = [f"{one}-{two}" for one, two in pairwise(words)]
    if re.search(r"int8[ _-]w4a8|w4a8[ _-]int8", plain, re.I):
        return None, kept
    if re.search(r"llm\.int8|load[_-]in[_-]8bit", plain, re.I):
        return find_format("bnb-int8"), kept
    if re.search(r"modelopt_fp4", plain, re.I):
        return find_format("nvfp4"), kept
    if re.search(r"int8\W{0,3}w8a8|w8a8\W{0,3}int8|w8a8(?!\W{0,3}fp8)", plain, re.I) and not re.search(
        r"fp8\W{0,3}w8a8", plain, re.I
    ):
        return find_format("int8-w8a8"), kept
    if re.search(r"block(?:wise)?[ -]?fp8|fp8[ -]?block", plain, re.I):
        return find_format("fp8-block"), kept
    if re.search(r"\bgguf\b", plain, re.I):
        exact = next(
            (found for word in words if (found := find_format(word)) and found.family == "gguf"), None
        )
        return exact or find_format("q4_k_m"), kept
    if re.search(r"\b(?:nf4|qlora)\b", plain, re.I):
        return find_format("bnb-nf4"), kept
    tried = (find_format(word.strip(".:?!\"'")) for word in (*pairs, *words) if len(word) > 2)
    return next((one for one in tried if one), None), kept


def _cards(text: str) -> tuple[Accelerator, ...]:
    """Every card a text names, the longest name first; one record for a name of several shapes."""
    plain = re.sub(_SLICE, " ", text)
    tokens = re.findall(r"[a-z0-9.+]+", re.sub(r"[()/_:-]", " ", plain.lower()))
    tokens = [token.strip(".+") for token in tokens]
    taken = [False] * len(tokens)
    found: dict[int, Accelerator] = {}
    for size in (6, 5, 4, 3, 2, 1):
        for at in range(len(tokens) - size + 1):
            if any(taken[at : at + size]) or not (card := _card(" ".join(tokens[at : at + size]))):
                continue
            taken[at : at + size] = [True] * size
            found[at] = card
    cards = {card.name: card for _, card in sorted(found.items())}
    return tuple(cards.values())


@cache
def _card(words: str) -> Accelerator | None:
    """The card that a few words are the name of."""
    if not any(char.isdigit() for char in words) and words not in _NAMES_WITHOUT_NUMBERS:
        return None
    if len(words) < 2 or re.fullmatch(r"[\d.]+(?: [\d.]+)*|x\d+|\d+ ?gi?b?|b\d{4,5}|v?\d+\.[\d.]+", words):
        return (
            find_accelerator(f"rtx {words}") if re.fullmatch(r"[345]0[6789]0(?: ti| super)?", words) else None
        )
    if re.fullmatch(r"[345]0[6789]0(?: ti| super| ti super| d)?s?", words):
        words = f"rtx {words}"
    return (
        find_accelerator(words) or _like(words) or (_card(words[:-1]) if re.search(r"\ds$", words) else None)
    )


_TITLES = {"ti": "Ti", "super": "SUPER", "pro": "Pro", "max": "Max", "ultra": "Ultra", "quadro": "Quadro"}
_NAMES_WITHOUT_NUMBERS = (
    "dgx spark",
    "titan v",
    "strix halo",
    "jetson agx orin",
    "jetson orin",
    "dgx spark gb10",
)


def _like(words: str) -> Accelerator | None:
    """A card without a record, as the chip family it belongs to: same capability, its own name."""
    bare = re.sub(r"^(?:nvidia|amd|geforce|radeon|tesla|intel|apple|quadro) ", "", words)
    for row in facts.software()["families"]["rows"]:
        if re.fullmatch(row["words"], bare):
            near = facts.accelerators().get(row["like"])
            if near is None:
                return None
            architecture, capability = (
                row.get("architecture", near.architecture),
                row.get("capability", near.capability),
            )
            segment = "consumer" if re.match(r"gtx|rtx ?\d|rx|titan", bare) else near.segment
            named = " ".join(_TITLES.get(word, word.upper()) for word in bare.split())
            return replace(
                near, id=bare.replace(" ", "-"), name=named, architecture=architecture, capability=capability,
                segment=segment, link_kind="none", link_domain_count=1, link_bytes_per_s=None,
            )  # fmt: skip
    return None
