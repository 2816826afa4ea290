"""The memory of a card as a bar across the terminal: patterns first, colours where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from cabida.report.bar import cells, glyph
from cabida.report.words import decimal

STYLES = {
    "weights": "blue",
    "denoiser": "blue",
    "vectors": "blue",
    "codes": "blue",
    "text_encoder": "cyan",
    "graph": "cyan",
    "vae": "magenta",
    "workspace": "yellow",
    "idle": "bright_black",
    "context": "bright_black",
    "gradients": "cyan",
    "optimizer": "magenta",
    "cache": "green",
    "cache_spare": "green",
    "activations": "yellow",
    "logits": "bright_magenta",
    "graphs": "magenta",
    "other": "bright_black",
    "missing": "bold red",
}
WIDEST = 100
LEAST = 12


class Bar:
    """One card's memory, as wide as there is room; bars of several cards share ``total``."""

    def __init__(self, parts: Mapping[str, float], usable: float, total: float = 0.0) -> None:
        self.parts, self.usable = parts, usable
        self.total = max(total, usable + parts.get("missing", 0.0))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The bar, and below it where the memory ends."""
        width = max(LEAST, min(options.max_width, WIDEST))
        plain = is_plain(options)
        line = Text(no_wrap=True, overflow="crop")
        for name, count in cells(self.parts, width, self.total):
            line.append(glyph(name, plain=plain) * count, STYLES.get(name, ""))
        yield line
        yield self._scale(width, plain)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(LEAST, min(options.max_width, WIDEST))

    def _scale(self, width: int, plain: bool) -> Text:
        edge = max(1, round(width * self.usable / self.total)) if self.total > 0 else width
        told = f"{decimal(self.usable, 2)} GiB "
        mark = "^" if plain else "▲"
        start = edge - 1 - len(told)
        line = f"0{' ' * (start - 1)}{told}{mark}" if start > 0 else f"{' ' * (edge - 1)}{mark} {told}"
        return Text(line, style="dim", no_wrap=True, overflow="crop")


class Key:
    """The sample a part is drawn with, for the table under the bar."""

    def __init__(self, part: str) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Two letters of the pattern."""
        yield Text(glyph(self.part, plain=is_plain(options)) * 2, STYLES.get(self.part, ""))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Two letters."""
        return Measurement(2, 2)


def is_plain(options: ConsoleOptions) -> bool:
    """Whether the terminal has no alphabet beyond ASCII."""
    return bool(options.ascii_only)


def parts_of(answer: dict[str, Any]) -> dict[str, float]:
    """What a fit says of one card, GiB, as a bar takes it."""
    return dict(answer["memory_gib"])
