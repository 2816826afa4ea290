"""What requests ask: prompts of wanted lengths whose beginnings share what they are meant to, and nothing else.

A deck gives prompt number k without making those before it, so that a run goes on where it stopped and several load
processes deal one deck between them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, count
from random import Random
from typing import Any

from cabida.bench.load.lengths import Calibrated, law
from cabida.bench.load.texts import Texts, texts
from cabida.bench.load.words import WORDS
from cabida.bench.outcome import Ask
from cabida.bench.wire.dialects.bodies import request_body
from cabida.bench.wire.tokens import token_counter
from cabida.errors import InvalidInput
from cabida.plan.bench import PROMPTS, Prompts, Target
from cabida.text import printable, problem

NONCE_WORDS = 4
MOST_WORDS = 5_000_000  # of one prompt
MANY_WORDS, STRETCH_WORDS = 65_536, 4096
_PRIME = 64_088_633  # odd and no multiple of 3 or 53: stepping by it visits every word before it repeats one


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question. ``messages`` is empty where ``text`` is all of it.

    ``input_tokens`` and ``output_tokens`` are what is wanted, ``None`` where nobody said; ``prefix`` is the number of
    the shared beginning, -1 where there is none.
    """

    text: str
    messages: tuple[dict[str, Any], ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    prefix: int = -1


class Deck:
    """Prompts by number, and one after another without end (as an iterator)."""

    def __init__(
        self,
        plan: Prompts,
        seed: int,
        *,
        measured: Calibrated,
        word_tokens: dict[str, int] | None,
        salt: str,
        file: Texts | None,
        lengths: tuple[array[int], array[int]] | None,
        repeated: bool = False,
    ) -> None:
        self.plan, self.seed, self.calibrated = plan, seed, measured
        self._word_tokens, self._file, self._lengths = word_tokens, file, lengths
        self._salt, self._repeated = salt, repeated
        self._input, self._output = law(plan.input), law(plan.output)
        self._offset = Random(f"{seed}/{salt}/nonce").randrange(len(WORDS) ** NONCE_WORDS)
        self._prefixes: dict[int, tuple[str, int]] = {}
        self._numbers = count()

    def again(
        self,
        seed: int,
        *,
        salt: str = "",
        lengths: Iterable[tuple[int, int]] | None = None,
        repeated: bool = False,
    ) -> Deck:
        """The same plan's prompts for another run: its file and tokenizer aren't read a second time.

        ``repeated``: the server was asked them before, so that a file's begin with a nonce from the first on.
        """
        return Deck(
            self.plan, seed, measured=self.calibrated, word_tokens=self._word_tokens, salt=salt, file=self._file,
            lengths=_held(lengths), repeated=repeated,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Prompt]:
        return self

    def __next__(self) -> Prompt:
        return self.at(next(self._numbers))

    def at(self, index: int) -> Prompt:
        """Prompt number ``index``, the same each time."""
        random = Random(f"{self.seed}/prompt/{index}")
        if self._lengths is None:
            asked, answered = self._input.draw(random), self._output.draw(random)
        else:
            place = index % len(self._lengths[0])
            asked, answered = self._lengths[0][place], self._lengths[1][place]
        if self._file is not None:
            return self._from_file(index, answered)
        prefix, beginning, begun_tokens = self._beginning(index, asked)
        own = self._words(random, asked - begun_tokens, self.nonce(index), own=not beginning)
        return Prompt(f"{beginning} {own}" if beginning else own, (), asked, answered, prefix)

    def expected(self, index: int) -> tuple[str, Any]:
        """What a file asks in prompt ``index`` and what it expects; ("", ``None``) without a file."""
        return ("", None) if self._file is None else self._file.expected(index % len(self._file))

    def of_words(self, words_count: int, index: int = 0) -> str:
        """A text of so many words, another for each index, salt and seed, as :func:`lengths.calibrate` wants it."""
        random = Random(f"{self.seed}/{self._salt}/warm-up/{index}/{words_count}")
        return " ".join(_chosen(random, max(1, words_count)))

    def nonce(self, index: int) -> list[str]:
        """Words that begin prompt ``index`` only; those of two neighbours differ from the first word on."""
        number, base, found = (index * _PRIME + self._offset) % len(WORDS) ** NONCE_WORDS, len(WORDS), []
        for _ in range(NONCE_WORDS):
            number, digit = divmod(number, base)
            found.append(WORDS[digit])
        return found

    def _beginning(self, index: int, asked: int | None) -> tuple[int, str, int]:
        """Number, text and tokens of the shared beginning of a prompt; of one too short for it, nothing."""
        wanted = round(self.plan.shared_prefix_tokens)
        if wanted <= 0 or self.plan.prefixes_count < 1 or (asked is not None and asked <= wanted):
            return -1, "", 0
        prefix = index % self.plan.prefixes_count
        if prefix not in self._prefixes:
            random = Random(f"{self.seed}/prefix/{prefix}")
            text = self._words(random, wanted, self.nonce(-1 - prefix), own=True)
            self._prefixes[prefix] = (text, self._tokens(text, wanted))
        return prefix, *self._prefixes[prefix]

    def _tokens(self, text: str, wanted: int) -> int:
        if self._word_tokens is None:
            return wanted
        return sum(self._word_tokens[word] for word in text.split(" "))

    def _words(self, random: Random, tokens: int, nonce: list[str], *, own: bool) -> str:
        """Words of so many tokens, the nonce first. ``own``: what the API adds around a prompt counts with them."""
        measured = self.calibrated if own else replace(self.calibrated, overhead_tokens=0.0)
        if self._word_tokens is None:
            chosen = measured.words_count(tokens)
        else:
            chosen = max(1, round(tokens - measured.overhead_tokens))
        chosen = min(chosen, MOST_WORDS)
        words = nonce[:chosen] + _chosen(random, chosen - len(nonce))
        if self._word_tokens is not None:
            reached = list(accumulate(map(self._word_tokens.__getitem__, words)))
            words = words[: max(1, bisect_right(reached, tokens - measured.overhead_tokens))]
        return " ".join(words)

    def _from_file(self, index: int, answered: int) -> Prompt:
        """A text of the file; from its second use on it begins with a nonce, so that no cache has it already."""
        if self._file is None:
            raise AssertionError
        again, place = divmod(index, len(self._file))
        text, messages, output_tokens = self._file.at(place)
        prefix, beginning, _ = self._beginning(index, None)
        before = " ".join(
            [beginning] * bool(beginning) + (self.nonce(index) if again or self._repeated else [])
        )
        if before:
            text, messages = _begun(before, text, messages)
        return Prompt(text, messages, None, output_tokens or answered, prefix)


def prompts(
    plan: Prompts,
    target: Target,
    seed: int,
    *,
    measured: Calibrated | None = None,
    salt: str = "",
    lengths: Iterable[tuple[int, int]] | None = None,
) -> Deck:
    """The prompts of a run, by its seed.

    Args:
        plan: synthetic ones are words of the wanted tokens; ``jsonl`` has ``{"prompt" | "messages", "output_tokens"?}``
            a line; ``sharegpt`` is an array of conversations, each asked its first question and allowed as many tokens
            as its reply had (characters / 4).
        target: its tokenizer counts words, where there is one.
        seed: of lengths and words; give each run its own, or a server's prefix cache knows the second one.
        measured: what the server said of words (:func:`lengths.calibrate`); a tokenizer keeps its overhead only.
        salt: changes the beginnings and nothing else, so that a server that is asked again hasn't cached them.
        lengths: (input, output) tokens one after another instead of the plan's laws, as a trace has them.

    Raises:
        InvalidInput: no such source (``CB-G004``), tokenizer (``CB-W014``, ``CB-W015``) or file, or faults in it
            (``CB-G007``, the first twenty, each with its line).
    """
    if plan.source not in PROMPTS:
        raise InvalidInput(problem("CB-G004", source=printable(plan.source), sources=", ".join(PROMPTS)))
    counts = word_tokens(target.tokenizer) if target.tokenizer and plan.source == "synthetic" else None
    if counts is not None:
        mean = sum(counts.values()) / len(counts)
        measured = Calibrated(mean, measured.overhead_tokens if measured else 0.0, "tokenizer")
    file = texts(plan.file, plan.source) if plan.source != "synthetic" else None
    return Deck(
        plan,
        seed,
        measured=measured or Calibrated(),
        word_tokens=counts,
        salt=salt,
        file=file,
        lengths=_held(lengths),
    )


def body_of(plan: Prompts, target: Target) -> Callable[[Prompt], bytes]:
    """What makes a prompt's JSON, as the target wants it."""

    def body(prompt: Prompt) -> bytes:
        return request_body(target, prompt, prompt.output_tokens, plan.exact_output)

    return body


def _held(lengths: Iterable[tuple[int, int]] | None) -> tuple[array[int], array[int]] | None:
    held = (array("q"), array("q"))
    for asked, answered in lengths or ():
        held[0].append(asked)
        held[1].append(answered)
    return held if held[0] else None


def _chosen(random: Random, count: int) -> list[str]:
    """So many words: stretches of one long text, for to draw each would hold up whoever reads meanwhile."""
    many = _many_words()
    found: list[str] = []
    while (left := count - len(found)) > 0:
        start = random.randrange(len(many))
        found += many[start : start + min(left, STRETCH_WORDS)]
    return found


@cache
def _many_words() -> list[str]:
    return Random("words").choices(WORDS, k=MANY_WORDS)


def word_tokens(path: str) -> dict[str, int]:
    """What each word is in tokens of the tokenizer in this file or folder, behind a space.

    Raises:
        InvalidInput: CB-W014, the library isn't there; CB-W015, the file isn't, or is none.
    """
    counted = token_counter(path)
    once = counted(WORDS[0])
    return {word: max(1, counted(f"{WORDS[0]} {word}") - once) for word in WORDS}


def asks(
    name: str,
    deck: Deck,
    body: Callable[[Prompt], bytes],
    *,
    done: Collection[str] = frozenset(),
    share: tuple[int, int] = (0, 1),
) -> Iterator[Ask | None]:
    """The requests of the run ``name``, number k named ``name/k``, each made when it is called for.

    ``None`` stands for one that was done before, or is another process's: its arrival passes.

    Args:
        name: of the run.
        deck: where prompts come from.
        body: JSON of a prompt (``wire.request_body`` with the rest of its arguments).
        done: ids that are not asked again.
        share: (this process, all processes): it asks every so-many-th.
    """
    mine, all_count = share
    for index in count():
        id_ = f"{name}/{index}"
        if index % all_count != mine or id_ in done:
            yield None
            continue
        prompt = deck.at(index)
        yield Ask(id_, body(prompt), 0.0, prompt.input_tokens, prompt.output_tokens, prompt.prefix)


def _begun(
    before: str, text: str, messages: tuple[dict[str, Any], ...]
) -> tuple[str, tuple[dict[str, Any], ...]]:
    if not messages:
        return f"{before}\n{text}", ()
    first = messages[0]
    if isinstance(first.get("content"), str):
        return text, ({**first, "content": f"{before}\n{first['content']}"}, *messages[1:])
    return text, ({"role": "system", "content": before}, *messages)
