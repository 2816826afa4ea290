"""How much of prompts is the beginning of another, told by hashes of their blocks, with a salt that is never kept.

A prompt is cut into blocks of BLOCK_CHARS characters, and each block is hashed together with all before it, as a
prefix cache does (https://docs.vllm.ai/en/latest/design/prefix_caching.html). All blocks less the distinct ones are
those that a cache which forgets nothing would have had already, in whatever order requests came. Of very many hashes
only those of a share of all values are kept, and the distinct ones estimated (Gibbons 2001, "Distinct Sampling for
Highly-Accurate Answers to Distinct Values Queries").
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

BLOCK_CHARS = 128
HASHES_MOST = 2_000_000
MODELS_MOST = 100


@dataclass(slots=True)
class Prefixes:
    """Blocks of prompts counted. Holds hashes only, in memory only."""

    prompts_count: int = 0
    chars_count: int = 0
    blocks_count: int = 0
    salt: int = field(default_factory=lambda: secrets.randbits(63), repr=False)
    _seen: set[int] = field(default_factory=set)
    _mask: int = 0

    def add(self, prompt: str) -> int:
        """Take a prompt in.

        Returns:
            A hash of the whole of it, by which the same one is known again; 0 for an empty one.
        """
        if not prompt:
            return 0
        self.prompts_count += 1
        self.chars_count += len(prompt)
        chain = self.salt
        for start in range(0, len(prompt) - BLOCK_CHARS + 1, BLOCK_CHARS):
            chain = hash((chain, prompt[start : start + BLOCK_CHARS]))
            self.blocks_count += 1
            if not chain & self._mask:
                self._seen.add(chain)
        while len(self._seen) > HASHES_MOST:
            self._mask = self._mask << 1 | 1
            self._seen = {one for one in self._seen if not one & self._mask}
        return hash((self.salt, prompt)) or 1

    @property
    def reusable_ratio(self) -> float | None:
        """Share of whole blocks that began another prompt too; ``None`` = there were no two prompts with a block."""
        if self.prompts_count < 2 or not self.blocks_count:
            return None
        return max(0.0, 1.0 - len(self._seen) * (self._mask + 1) / self.blocks_count)

    @property
    def block_ratio(self) -> float:
        """Share of characters that lie in whole blocks: of the rest of a prompt nothing can be told."""
        return self.blocks_count * BLOCK_CHARS / max(1, self.chars_count)


class ByModel:
    """Prompts of each model by themselves, under one salt."""

    def __init__(self) -> None:
        self._salt = secrets.randbits(63)
        self._found: dict[str, Prefixes] = {}

    def of(self, model: str) -> Prefixes:
        """Those of one model; beyond MODELS_MOST of them, of all the others together."""
        if model not in self._found and len(self._found) >= MODELS_MOST:
            model = "…"
        if model not in self._found:
            self._found[model] = Prefixes(salt=self._salt)
        return self._found[model]

    def there(self, models: Iterable[str]) -> list[Prefixes]:
        """Those of these models that have prompts."""
        return [self._found[one] for one in models if one in self._found and self._found[one].prompts_count]
