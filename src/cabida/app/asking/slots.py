"""What a question names: accelerators with their counts, models, formats, loads, prices and hours."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from cabida import facts
from cabida.facts.models import find_model

LONGEST_WORDS = 6
FORMATS = (
    (r"nv ?fp4|\bfp4\b", "nvfp4"), (r"mxfp4", "mxfp4"), (r"\bfp8\b|\be4m3\b", "fp8"), (r"w8a8", "int8-w8a8"),
    (r"gptq", "gptq-int4"), (r"awq", "awq-int4"), (r"\bint8\b|\b8[ -]bits?\b", "int8"),
    (r"\bnf4\b|bitsandbytes|\bbnb\b", "bnb-nf4"), (r"q(\d)_k_([msl])", ""), (r"q8_0|gguf", "q8_0"),
    (r"\bint4\b|\b4[ -]bits?\b", "awq-int4"), (r"\bbf16\b|bfloat16", "bf16"), (r"\bfp16\b|float16", "fp16"),
    (r"\bfp32\b", "fp32"),
)  # fmt: skip
METHODS = (
    (r"\bqlora\b", "qlora"),
    (r"\blora\b|adapter|adaptador", "lora"),
    (r"pre-?train|preentren|from scratch|desde cero", "pretrain"),
    (r"\bfull\b|comple(?:to|ta)\b", "full"),
)
ENGINES = r"vllm|sglang|tensorrt-llm|llama\.cpp|ollama|transformers|exllamav2|lmdeploy"
THOUSANDS = ("k", "mil", "thousand")  # any other scale is of millions
NUMBER = r"(\d[\d.,]*)\s*(k|mil|thousand|millions?|mill(?:on|ones)|m)?\b"
SECONDS = {
    **dict.fromkeys(("s", "second", "segundo"), 1.0),
    **dict.fromkeys(("minute", "minuto"), 60.0),
    **dict.fromkeys(("hour", "hora"), 3600.0),
    **dict.fromkeys(("day", "dia"), 86400.0),
    **dict.fromkeys(("month", "mes"), 2628000.0),
}
PER = r"(?:a|al|por|per|each|cada|every|/|la|an)\s*"
PEOPLE = (
    r"(?:\w+ ){0,2}?(?:users?|usuarios|people|personas|employees|empleados|developers|alumnos|students)\b"
)
REQUESTS = r"(?:\w+ )?(?:requests?|req|peticiones|peticion|solicitudes|consultas|queries|calls|llamadas)"
CONTEXT = (
    rf"{NUMBER}(?: tokens?)?(?: of| de)? ?(?:-)?(?:context|tokens)"
    rf"|context[oa]?(?: window| length)?(?: of| de)? {NUMBER}"
)
COUNTS = {
    "one": "1",
    **dict.fromkeys(("two", "dos"), "2"),
    **dict.fromkeys(("four", "cuatro"), "4"),
    **dict.fromkeys(("eight", "ocho"), "8"),
}
UNITS = "second|segundo|minute|minuto|hour|hora|day|dia|month|mes|s"
# words of a family -> none; a family and a size ("llama 70b") mean its newest plain model
FAMILY = r"\b(llama|qwen|mistral|gemma|deepseek|phi)[ -]?(\d+(?:\.\d+)?b)\b"
JOINING = {
    "with",
    "class",
    "+",
    "on",
    "in",
    "for",
    "con",
    "en",
    "para",
    "or",
    "o",
    "vs",
    "and",
    "y",
    "at",
    "a",
}
SIZE = r"\b(\d+(?:\.\d+)?) ?b\b"
# what stands for a size that no model is named with
STANDING_B = {
    "meta-llama/Llama-3.2-3B": 3.2,
    "meta-llama/Llama-3.1-8B": 8.0,
    "Qwen/Qwen3-14B": 14.8,
    "Qwen/Qwen3-32B": 32.8,
    "meta-llama/Llama-3.3-70B-Instruct": 70.6,
    "meta-llama/Llama-3.1-405B": 405.0,
}  # billions of parameters


@dataclass(frozen=True, slots=True)
class Slots:
    """What was found; empty, ``None`` or "" = not said."""

    cards: tuple[tuple[str, int | None], ...] = ()  # accelerator's id and how many
    models: tuple[str, ...] = ()
    model_taken: bool = False  # only a size or a family was said
    formats: tuple[str, ...] = ()
    engine: str = ""
    method: str = ""
    users: float | None = None
    requests_per_s: float | None = None
    context_tokens: int | None = None
    hours_per_day: float | None = None
    money: float | None = None
    currency: str = ""
    hourly: bool = False


def plain(text: str) -> str:
    """Lower case, no accents, no question marks."""
    bare = unicodedata.normalize("NFKD", text.lower().replace("×", " x "))
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    return re.sub(r"\s+", " ", re.sub(r"[¿?¡!\"“”«»()]", " ", bare)).strip()


def slots(question: str) -> Slots:
    """Everything that the question names."""
    text = plain(question)
    cards, models, rest = _named(text)
    taken = False
    if not models and (meant := _meant(rest)):
        models, taken = [meant], True
    money, currency, hourly = _money(rest)
    users = _counted(rest, PEOPLE)
    asked = re.search(rf"{NUMBER} {REQUESTS}\s*{PER}({UNITS})\b", rest)
    context = re.search(CONTEXT, rest)
    hours = re.search(rf"(\d+(?:[.,]\d+)?) ?(?:h|hours?|horas)\s*{PER}(?:day|dia)", rest)
    if users is None and (
        at_once := re.search(rf"{NUMBER}(?: (?:concurrent|simultane\w+|at once|a la vez))", rest)
    ):
        users = _value(at_once[1], at_once[2])
    per_s = _value(asked[1], asked[2]) / SECONDS[asked[3]] if asked else None
    size = None
    if context:
        number, scale = (context[1], context[2]) if context[1] else (context[3], context[4])
        size = round(_value(number, scale) * (1.024 if scale == "k" else 1.0))
    engine = re.search(ENGINES, rest)
    return Slots(
        tuple(cards), tuple(models), taken, _formats(rest), engine[0] if engine else "", _first(METHODS, rest), users,
        per_s, size, float(hours[1].replace(",", ".")) if hours else None, money, currency, hourly,
    )  # fmt: skip


def _named(text: str) -> tuple[list[tuple[str, int | None]], list[str], str]:
    """Accelerators with their counts, models, and the text without them; the longest names first."""
    words = [word for word in re.split(r"(?:[\s;]|,(?!\d))+|(?<=\d)\s*x(?=\s|$)", text) if word]
    cards: list[tuple[str, int | None]] = []
    models: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words):
        for count in range(min(LONGEST_WORDS, len(words) - at), 0, -1):
            name = " ".join(words[at : at + count]).strip(".:'")
            if not any(char.isdigit() for char in name):
                continue
            times = re.fullmatch(r"(\d{1,3})x(\S.*)", name)
            card = _card(times[2] if times else name)
            if card:
                cards.append((card, int(times[1]) if times else _before(rest)))
                break
            model = find_model(name) if _may_be_model(name) else None
            if model is not None:
                models.append(model.id)
                break
        else:
            rest.append(words[at])
            count = 1
        at += count
    return list(dict.fromkeys(cards)), list(dict.fromkeys(models)), " ".join(rest)


def _card(name: str) -> str:
    if re.fullmatch(r"\d{1,3}|\d{1,3} .*", name) or name[0] in "#$":
        return ""
    for form in (name, name.removesuffix("s")):
        try:
            found = facts.find_accelerator(form)
        except ValueError:
            found = None
        if found is not None:
            return found.id
    return ""


def _may_be_model(name: str) -> bool:
    return len(name) > 3 and name[0].isalpha() and not JOINING & set(name.split())


def _before(rest: list[str]) -> int | None:
    """The count just before a card: "2 x", "2", "two", "dos". An article counts nothing."""
    tail = [word for word in rest[-2:] if word != "x"]
    last = COUNTS.get(tail[-1], tail[-1]) if tail else ""
    found = re.fullmatch(r"(\d{1,3})x?", last)
    return int(found[1]) if found else None


def _meant(text: str) -> str:
    """The model that a family and a size, or a size alone, stand for."""
    if said := re.search(FAMILY, text):
        family, size = said[1], said[2]
        fits = [
            one for one in facts.models()
            if re.search(rf"/(?:meta-)?{family}[\d.-]*-?{re.escape(size)}(?:-(?:it|instruct))?$", one.lower())
        ]  # fmt: skip
        if fits:
            return max(
                fits, key=lambda one: ([float(n) for n in re.findall(r"\d+(?:\.\d+)?", one)], -len(one))
            )
    if said := re.search(SIZE, text):
        size_b = float(said[1])
        return standing(size_b)
    return ""


def standing(params_b: float) -> str:
    """The model that stands for others of about its size; "" when none of them is known."""
    known = {one: size for one, size in STANDING_B.items() if one in facts.models()}
    return min(known, key=lambda one: abs(known[one] / params_b - 1), default="")


def _formats(text: str) -> tuple[str, ...]:
    found = []
    for pattern, id in FORMATS:
        if said := re.search(pattern, text):
            found.append(id or said[0])
            text = text.replace(said[0], " ")
    return tuple(found)


def _first(pairs: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for pattern, name in pairs if re.search(pattern, text)), "")


def _counted(text: str, of: str) -> float | None:
    found = re.search(rf"{NUMBER} {of}", text)
    return _value(found[1], found[2]) if found else None


def _money(text: str) -> tuple[float | None, str, bool]:
    found = re.search(rf"([$€£]) ?{NUMBER}|{NUMBER} ?(usd|eur|gbp|dollars?|euros?|dolares?|[$€£])", text)
    if not found:
        return None, "", False
    sign = found[1] or found[6]
    number, scale = (found[2], found[3]) if found[1] else (found[4], found[5])
    currency = {"$": "USD", "€": "EUR", "£": "GBP"}.get(sign) or {
        "d": "USD",
        "e": "EUR",
        "u": "USD",
        "g": "GBP",
    }[sign[0]]
    hourly = bool(re.search(r"(/|per|an|la|por|the|a la)\s*(h\b|hr\b|hours?|hora)", text[found.end() :]))
    return _value(number, scale), currency, hourly


def _value(number: str, scale: str | None) -> float:
    """``10,000``, ``10.000``, ``2.5`` and ``2,5`` with a scale."""
    whole = re.sub(r"[.,](?=\d{3}(?!\d))", "", number.strip(".,")).replace(",", ".")
    scaled = 1e3 if scale in THOUSANDS else 1e6 if scale else 1.0
    return float(whole) * scaled
