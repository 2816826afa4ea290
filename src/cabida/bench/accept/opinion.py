"""A judge: another endpoint that is asked whether an output is acceptable. What it costs is counted apart."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, fields, replace
from typing import Any

from cabida.bench.accept.judgement import MET, Output, Said
from cabida.bench.accept.options import Options
from cabida.bench.accept.patterns import compiled, found
from cabida.plan.bench import Target
from cabida.text import closest, tr

LOOKED_AT_CHARS = 16_000
MOST_TOKENS = 16
PLACES = ("output", "prompt", "reference")
YES, NO = r"(?i)^\W*(yes|sí|si|accept|pass)\b", r"(?i)^\W*(no|reject|fail)\b"
_TARGET = tuple(one.name for one in fields(Target))


@dataclass(slots=True)
class Spent:
    """What a judge was asked and took. Tokens are ``None`` from the first answer on that didn't count them."""

    asked_count: int = 0
    failed_count: int = 0
    unclear_count: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    money: float | None = None

    def add(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """One answer."""
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


class Opinion:
    """Kind ``judge``: ``{target: {url, model, key, ...}, prompt: ..., accept: ..., reject: ...}``.

    ``prompt`` holds ``{output}`` and may hold ``{prompt}`` and ``{reference}``; what is put there stands between marks
    that nobody can foresee, and is cut at 16,000 characters. ``accept`` and ``reject`` are patterns looked for in what
    the judge answers; neither or both found is no judgement, and so is a judge that fails. ``tokens`` is the most it
    may write, ``input_price`` and ``output_price`` are money per million tokens, ``most`` is how many outputs it is
    asked about.
    """

    form = False

    def __init__(self, value: Any) -> None:
        known = (
            "target",
            "prompt",
            "accept",
            "reject",
            "tokens",
            "input_price",
            "output_price",
            "most",
            "at_once",
        )
        said = Options(value, "", known)
        self.template = said.text("prompt")
        if "{output}" not in self.template and self.template:
            said.wrong("prompt", self.template, "{output}")
        self.target = _target(said)
        accept, reject = said.text("accept", YES), said.text("reject", NO)
        self.output_tokens = int(said.number("tokens", MOST_TOKENS, low=1, high=100_000))
        self.most_count: int | None = said.number("most", None, low=0, high=1e9)
        self.at_once = int(said.number("at_once", 4, low=1, high=256))
        self.prices = (
            said.number("input_price", None, low=0, high=1e6),
            said.number("output_price", None, low=0, high=1e6),
        )
        self.accept = said.made("accept", lambda: compiled(accept))
        self.reject = said.made("reject", lambda: compiled(reject))
        said.check()
        self.spent = Spent()

    def judge(self, output: Output) -> Said:
        """It can't be asked without waiting: see :mod:`cabida.bench.accept.judging`."""
        return Said(None, tr("accept.judge_not_asked"))

    def question(self, output: Output) -> str:
        """What the judge is asked about an output."""
        mark = secrets.token_hex(4)
        said = {"output": output.text, "prompt": output.prompt, "reference": output.reference}
        text = self.template
        filled = []
        while text:  # one pass: what was put in is not looked through again
            at, key = min(
                ((text.find(f"{{{key}}}"), key) for key in PLACES if f"{{{key}}}" in text), default=(-1, "")
            )
            if at < 0:
                break
            value = said[key]
            inside = "" if value is None else str(value)[:LOOKED_AT_CHARS]
            filled += [text[:at], f"<{key} {mark}>\n{inside}\n</{key} {mark}>"]
            text = text[at + len(key) + 2 :]
        return "".join([*filled, text])

    def verdict(self, answer: str) -> Said:
        """What a judge's answer means."""
        text = answer[:LOOKED_AT_CHARS]
        yes, no = found(self.accept, text), found(self.reject, text)
        if yes and no is False:
            return MET
        if no and yes is False:
            return Said(False, tr("accept.judge_no"))
        self.spent.unclear_count += 1
        return Said(None, tr("accept.judge_unclear"))

    def money(self) -> float | None:
        """What it cost so far; ``None`` without prices or counts."""
        spent, (per_input, per_output) = self.spent, self.prices
        if (
            per_input is None
            or per_output is None
            or spent.input_tokens is None
            or spent.output_tokens is None
        ):
            return None
        return float(spent.input_tokens * per_input + spent.output_tokens * per_output) / 1e6


def _target(said: Options) -> Target:
    """The judge's endpoint; streaming serves nothing here."""
    value = said.get("target")
    value = {"url": value} if isinstance(value, str) else value
    if not isinstance(value, dict) or not isinstance(value.get("url"), str):
        said.wrong("target", value, "{url: ..., model: ...}")
        return Target("")
    for key in value:
        if key not in _TARGET:
            said.told.append(
                tr("accept.unknown_key", key=str(key)[:40], known=closest(str(key), _TARGET) or "url, model")
            )
    if said.told:
        return Target("")
    return replace(Target(**value), stream=False)
