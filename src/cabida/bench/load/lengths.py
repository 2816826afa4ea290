"""Token lengths drawn from the plan's laws, and what a word is worth in tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import erf, exp, inf, log, sqrt
from random import Random

from cabida.plan.bench import Spread

WARM_UP_WORDS = (16, 64, 256)  # of the requests that calibrate
MOST_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a prompt of so many words is in tokens: ``overhead_tokens + tokens_per_word * words``.

    ``basis``: "usage" (the server's own count of warm-up requests), "tokenizer", or "assumed" (nobody counted).
    """

    tokens_per_word: float = 1.0
    overhead_tokens: float = 0.0
    basis: str = "assumed"

    def words_count(self, tokens: float) -> int:
        """Words whose prompt comes nearest to ``tokens``, at least one."""
        return max(1, round((tokens - self.overhead_tokens) / self.tokens_per_word))


def calibrated(counted: Sequence[tuple[int, int]], basis: str = "usage") -> Calibrated | None:
    """The straight line (least squares) through (words, tokens counted), or ``None`` where there is none.

    One size only, or a slope nobody's vocabulary has (outside 0.2 to 20 tokens a word), tells nothing.
    """
    sizes = {words for words, _ in counted}
    if len(sizes) < 2:
        return None
    n = len(counted)
    mean_words = sum(words for words, _ in counted) / n
    mean_tokens = sum(tokens for _, tokens in counted) / n
    square = sum((words - mean_words) ** 2 for words, _ in counted)
    slope = sum((words - mean_words) * (tokens - mean_tokens) for words, tokens in counted) / square
    if not 0.2 <= slope <= 20.0:
        return None
    return Calibrated(slope, max(0.0, mean_tokens - slope * mean_words), basis)


async def calibrate(count: Callable[[int], Awaitable[int | None]]) -> Calibrated | None:
    """Ask the server what prompts of a few sizes are in its tokens.

    Args:
        count: sends one request with a prompt of so many words (``Deck.of_words``) for one token of output and gives
            ``usage.prompt_tokens``, or ``None`` where the server said nothing.
    """
    counted: list[tuple[int, int]] = []
    for words in WARM_UP_WORDS:
        tokens = await count(words)
        if tokens is not None and tokens > 0:
            counted.append((words, tokens))
    return calibrated(counted)


@dataclass(frozen=True, slots=True)
class Law:
    """A log-normal law, cut at ``most_tokens``, whose mean after the cut is the one asked for."""

    log_median: float
    spread_ratio: float
    most_tokens: float

    def draw(self, random: Random) -> int:
        """One length, at least 1 token."""
        value = exp(self.log_median + self.spread_ratio * random.gauss(0.0, 1.0))
        return max(1, round(min(value, self.most_tokens)))


def law(spread: Spread) -> Law:
    """The law of a plan's lengths.

    The mean of min(X, m) for log-normal X of median exp(u) and spread s is
    exp(u + s**2/2) * F((ln m - u - s**2) / s) + m * (1 - F((ln m - u) / s)), F the normal distribution; u is found by
    bisection. Where the cut lies below the mean itself all are cut there.
    """
    most = min(spread.most_tokens if spread.most_tokens is not None else MOST_TOKENS, MOST_TOKENS)
    mean, s = max(1.0, min(spread.mean_tokens, most)), max(0.0, spread.spread_ratio)
    if s == 0.0 or mean >= most:
        return Law(log(mean), 0.0, most)
    low, high = log(mean) - s * s / 2.0, log(most) + 8.0 * s
    if _cut_mean(low, s, most) >= mean * (1.0 - 1e-9):
        return Law(low, s, most)
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _cut_mean(middle, s, most) < mean else (low, middle)
    return Law(high, s, most)


def _cut_mean(log_median: float, s: float, most: float) -> float:
    if most == inf:
        return exp(log_median + s * s / 2.0)
    beyond = (log(most) - log_median) / s
    return exp(log_median + s * s / 2.0) * _normal(beyond - s) + most * (1.0 - _normal(beyond))


def _normal(z: float) -> float:
    return 0.5 * (1.0 + erf(z / sqrt(2.0)))
