"""Request logs of vLLM and SGLang.

vLLM (``--enable-log-requests``, ``--enable-log-outputs``; https://github.com/vllm-project/vllm,
``vllm/entrypoints/logger.py``) writes ``Received request ID: prompt: ..., params: ..., prompt_token_ids: [...]`` and
``Generated response ID: output: ..., output_token_ids: [...], finish_reason: stop``; its stamps have neither year nor
zone. SGLang (``--log-requests``; ``python/sglang/srt/managers/tokenizer_manager.py``) writes ``Finish: obj=..., out=``
with a ``meta_info`` of tokens and ``e2e_latency``. What users wrote stands in both: figures are taken from behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cabida.evidence.traffic.columns import CUT, FAILED, OK, Requests, whole_tokens
from cabida.evidence.traffic.prefixes import ByModel
from cabida.evidence.traffic.times import Clock

OPEN_MOST = 200_000
VLLM_STAMP = re.compile(
    r"(?:\([^)]{1,60}\) )?(?:INFO|WARNING|ERROR|DEBUG) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)"
)
VLLM_ASKED = re.compile(r"Received request (\S{1,200}): prompt: ")
VLLM_ANSWERED = re.compile(r"Generated response (\S{1,200})( \(streaming (delta|complete)\))?: output: ")
VLLM_ABORTED = re.compile(r"(?:Aborted request(?:\(s\))?|Request) (\S{1,200}?)(?: was)?(?: aborted|\.|$)")
VLLM_HITS = re.compile(r"Prefix cache hit rate: (?:GPU: )?(\d+(?:\.\d+)?)%")
UVICORN = re.compile(r'INFO:\s+\S+ - "POST \S+ HTTP/[\d.]+" (\d{3})')
SGLANG_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
NUMBER = {name: re.compile(rf"'{name}': (\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
          for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "e2e_latency")}  # fmt: skip
SIGNS = {
    "vllm": re.compile(r"Received request \S+: prompt: |Generated response \S+.{0,24}: output: |"
                       r"(?:INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d "),
    "sglang": re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\] "),
}  # fmt: skip


@dataclass(slots=True)
class Vllm:
    """Takes lines of vLLM in. Requests whose end the log doesn't tell are taken in by ``close``."""

    requests: Requests
    clock: Clock
    prefixes: ByModel
    written_s: float
    model: str = ""
    hit_ratio: float | None = None
    unanswered_count: int = 0
    _open: dict[str, tuple[float, int | None, int]] = field(default_factory=dict)

    def take(self, line: str) -> str:
        """One line; the reason where it makes no sense, "" where it does or is of something else."""
        if asked := VLLM_ASKED.search(line):
            at_s = self._at_s(line)
            if at_s is None:
                return "time"
            prompt, _, behind = line[asked.end() :].rpartition(", params: ")
            said = prompt[1:-1] if len(prompt) > 2 else ""
            inside = self.requests.from_s <= at_s < self.requests.until_s
            if len(self._open) >= OPEN_MOST:
                self._end(next(iter(self._open)), None, 0, None)
            self._open[asked[1]] = (
                at_s,
                _listed(behind, "prompt_token_ids"),
                self.prefixes.of(self.model).add(said) if inside else 0,
            )
        elif answered := VLLM_ANSWERED.search(line):
            if answered[3] == "delta":
                return ""
            at_s = self._at_s(line)
            if at_s is None:
                return "time"
            reason = line.rpartition("finish_reason: ")[2].strip()
            status = {"abort": CUT, "error": FAILED}.get(reason, OK)
            self._end(answered[1], at_s, status, _listed(line[answered.end() :], "output_token_ids"))
        elif "borted" in line and (aborted := VLLM_ABORTED.search(line)) and aborted[1] in self._open:
            self._end(aborted[1], self._at_s(line), CUT, None)
        elif found := VLLM_HITS.search(line):
            self.hit_ratio = float(found[1]) / 100
        elif found := UVICORN.match(line):
            self.requests.untimed[int(found[1])] += 1
        return ""

    def close(self) -> None:
        """Take in what was asked and not answered as far as the log goes."""
        for name in list(self._open):
            self._end(name, None, 0, None)

    def _end(self, name: str, at_s: float | None, status: int, answered: int | None) -> None:
        begun = self._open.pop(name, None)
        if begun is None:
            self.unanswered_count += 1
            return
        begun_s, asked, body = begun
        self.requests.resolution_s = 1.0
        self.requests.add(
            begun_s,
            status=status,
            model=self.model,
            duration_s=at_s - begun_s if at_s is not None else None,
            input_tokens=asked,
            output_tokens=answered,
            id_hash=hash(name),
            body_hash=body,
        )

    def _at_s(self, line: str) -> float | None:
        found = VLLM_STAMP.match(line)
        if not found:
            return None
        month, day, *clock = map(int, found.groups())
        return self.clock.yearless(month, day, (clock[0], clock[1], clock[2]), self.written_s)


def _listed(text: str, name: str) -> int | None:
    """How many numbers the last list of this name has; ``None`` where it is "None", or isn't there."""
    start = text.rfind(f"{name}: [")
    end = text.find("]", start)
    if start < 0 or end < 0:
        return None
    inside = text[start + len(name) + 3 : end]
    return inside.count(",") + 1 if inside.strip() else 0


def sglang_line(line: str, requests: Requests, clock: Clock) -> str:
    """One line of SGLang; what was received is counted when it is finished."""
    place = line.find("Finish: obj=")
    if place < 0 or place > 200:
        return ""
    stamp = SGLANG_STAMP.match(line)
    ended_s = clock.moment(stamp[1]) if stamp else None
    if ended_s is None:
        return "time"
    behind = line[line.rfind("'meta_info': {") :]
    figures = {name: float(found[1]) for name, shape in NUMBER.items() if (found := shape.search(behind))}
    taken_s = figures.get("e2e_latency")
    requests.resolution_s = max(requests.resolution_s, clock.resolution_s)
    requests.add(
        ended_s - (taken_s or 0.0),
        status=CUT if "'type': 'abort'" in behind else OK,
        duration_s=taken_s,
        input_tokens=whole_tokens(figures.get("prompt_tokens")),
        output_tokens=whole_tokens(figures.get("completion_tokens")),
        cached_tokens=whole_tokens(figures.get("cached_tokens")),
    )
    return ""
