"""Reading a ``config.json``: bounded, checked, and every complaint says where."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts.families import FAMILIES
from cabida.files import read_bytes, read_text
from cabida.text import problem, tr

CONFIG_BYTES_MOST = 10 * 2**20
COUNT_MOST = 10**9
LAYERS_MOST = 2000

_SPELLINGS = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "hidden_dim", "n_embed", "model_dim"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_attention_heads": (
        "num_attention_heads",
        "n_head",
        "n_heads",
        "num_heads",
        "decoder_attention_heads",
    ),
    "num_key_value_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "multi_query_group_num",
        "kv_n_heads",
        "num_attention_groups",
    ),
    "num_decoder_layers": ("num_decoder_layers", "decoder_layers"),
    "vocab_size": ("padded_vocab_size", "vocab_size"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "d_kv"),
    "intermediate_size": (
        "intermediate_size",
        "n_inner",
        "ffn_dim",
        "d_ff",
        "ffn_hidden_size",
        "feed_forward_size",
        "decoder_ffn_dim",
    ),
    "max_position_embeddings": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "max_sequence_length",
        "seq_length",
        "n_ctx",
        "max_target_positions",
        "model_max_length",
    ),
}
_PER_LAYER = ("num_attention_heads", "num_key_value_heads", "intermediate_size", "num_local_experts")
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "text_model_config")


def spellings(name: str) -> tuple[str, ...]:
    """The keys under which families of models write the same thing."""
    return _SPELLINGS.get(name, (name,))


class Fields:
    """The keys of one model's config, with the enclosing multimodal config behind them."""

    def __init__(
        self, config: dict[str, Any], file: str = "", defaults: dict[str, Any] | None = None
    ) -> None:
        self.outer = config
        self.file = file
        inner = config
        while nested := next((inner[key] for key in _NESTED if isinstance(inner.get(key), dict)), None):
            inner = nested
        self.inner = inner
        self.defaults = defaults or {}
        self._read: dict[str, Any] = {}

    def raw(self, name: str) -> Any:
        """The value under any spelling of ``name``; ``None`` when absent or null."""
        try:
            return self._read[name]
        except KeyError:
            found = self._read[name] = self._raw(name)
            return found

    def _raw(self, name: str) -> Any:
        for key in spellings(name):
            for level in (self.inner, self.outer, self.defaults):
                if level.get(key) is not None:
                    return level[key]
        return None

    def has(self, name: str) -> bool:
        """Whether ``name`` is given (by the file, not by a default of its class)."""
        return any(
            level.get(key) is not None for key in spellings(name) for level in (self.inner, self.outer)
        )

    def count(self, name: str, default: int | None = None, least: int = 0, most: int = COUNT_MOST) -> int:
        """A whole number within bounds, or ``default`` when absent.

        Raises:
            InvalidInput: CB-F011 when it is absent and there is no default, CB-F016 when it is no such number.
        """
        value = self.raw(name)
        if value is None:
            if default is None:
                raise self.lacks([name])
            return default
        return self.whole(name, value, least, most)

    def whole(self, name: str, value: object, least: int = 0, most: int = COUNT_MOST) -> int:
        """``value`` as a whole number within bounds (CB-F016 when it isn't one)."""
        if isinstance(value, list) and value and _numbers(value) and len(set(value)) == 1:
            value = value[0]
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not least <= number <= most or number != int(number):
            raise self.wrong(value, name, f"{least}..{most}")
        return int(number)

    def ratio(self, name: str, default: float) -> float:
        """A positive real number, or ``default`` when absent."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < COUNT_MOST:
            raise self.wrong(value, name, f"0..{COUNT_MOST}")
        return float(value)

    def truth(self, name: str, *, default: bool) -> bool:
        """A yes or no, or ``default`` when absent."""
        value = self.raw(name)
        if value is None:
            return default
        if value not in (True, False, 0, 1):
            raise self.wrong(value, name, "true | false")
        return bool(value)

    def text(self, name: str, default: str = "") -> str:
        """A piece of text, or ``default`` when absent or something else."""
        value = self.raw(name)
        return value if isinstance(value, str) else default

    def items(self, name: str, most: int = LAYERS_MOST) -> list[Any]:
        """A list, empty when absent (CB-F016 when it is no list or too long)."""
        value = self.raw(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(value, name, f"[0..{most}]")
        return value

    def places(self, name: str) -> frozenset[int]:
        """A list of layer numbers, as a set."""
        return frozenset(self.whole(name, entry, most=LAYERS_MOST) for entry in self.items(name))

    def per_layer(self, name: str, layers: int) -> list[Any]:
        """A list with an entry for each layer; longer ones are cut, shorter ones refused, absent ones empty."""
        value = self.items(name)
        if value and (len(value) < layers or any(isinstance(one, dict | list) for one in value)):
            raise self.wrong(value, name, f"[{layers}]")
        return value[:layers]

    def mapping(self, name: str) -> dict[str, Any]:
        """A nested object, empty when absent (CB-F016 when it is something else)."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(value, name, "{ }")
        return value

    @property
    def varies(self) -> bool:
        """Whether heads or widths are listed layer by layer, and differ."""
        return any(self._differs(name) for name in _PER_LAYER)

    def _differs(self, name: str) -> bool:
        value = self.raw(name)
        return isinstance(value, list) and _numbers(value) and len(set(value)) > 1

    def at(self, layer: int) -> Fields:
        """The fields of one layer: listed heads and widths reduced to that layer's entry."""
        own: dict[str, Any] = {}
        for name in _PER_LAYER:
            value = self.raw(name)
            if isinstance(value, list) and value:
                if layer >= len(value):
                    raise self.wrong(value, name, f"[> {layer}]")
                own |= dict.fromkeys(spellings(name), value[layer])
        made = Fields(self.outer, self.file, self.defaults)
        made.inner = {**self.inner, **own}
        return made

    def lacks(self, names: Iterable[str]) -> InvalidInput:
        """The complaint that keys are missing (CB-F011)."""
        return InvalidInput(
            problem(
                "CB-F011",
                file=self.file,
                keys=", ".join(names),
                model_type=self.model_type or "?",
                known=", ".join(sorted(FAMILIES)),
            )
        )

    def wrong(self, value: object, name: str, allowed: str) -> InvalidInput:
        """The complaint that a key's value can't be (CB-F016)."""
        shown = str(value)
        return InvalidInput(
            problem(
                "CB-F016",
                file=self.file,
                line=line_of(self.file, name),
                key=name,
                value=shown[:60] + "…" * (len(shown) > 60),
                allowed=allowed,
            )
        )

    @property
    def model_type(self) -> str:
        """What kind of language model this is, the ``_text`` of nested configs dropped."""
        inner = self.inner.get("model_type")
        name = inner if isinstance(inner, str) else self.outer.get("model_type")
        return name.removesuffix("_text") if isinstance(name, str) else ""


def line_of(file: str, name: str) -> int:
    """The line of ``file`` on which the key ``name`` (in any spelling) stands; 0 when it can't be told."""
    path = Path(file) if file else None
    try:
        if path is None:
            return 0
        lines = read_bytes(path, CONFIG_BYTES_MOST).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return 0
    keys = [f'"{key}"' for key in spellings(name.rsplit(".", 1)[-1])]
    return next((number for number, line in enumerate(lines, 1) if any(key in line for key in keys)), 0)


def _numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def read_json(path: Path, most_bytes: int = CONFIG_BYTES_MOST) -> dict[str, Any]:
    """A JSON object from a file no larger than ``most_bytes``.

    Raises:
        InvalidInput: CB-F015 when it can't be read, is too large, or is no JSON object.
    """
    try:
        parsed = json.loads(read_text(path, most_bytes))
    except json.JSONDecodeError as error:
        raise _unreadable(path, error.msg, error.lineno) from error
    except (OSError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    if not isinstance(parsed, dict):
        raise _unreadable(path, tr("facts.no_json_object"))
    return parsed


def _unreadable(path: Path, reason: str, line: int = 0) -> InvalidInput:
    return InvalidInput(problem("CB-F015", file=str(path), line=line, reason=reason))
