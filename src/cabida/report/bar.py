"""A stacked bar of memory in letters: one cell after the other, every part at least one, none by colour alone."""

from __future__ import annotations

from collections.abc import Mapping

# part -> (block, letter where there are no blocks); each can be told from its neighbours in black and white
GLYPHS = {
    "weights": ("█", "#"),
    "gradients": ("▓", "g"),
    "optimizer": ("▒", "o"),
    "cache": ("▓", "="),
    "kv_cache": ("▓", "="),
    "cache_spare": ("▒", "-"),
    "text_encoder": ("▒", "t"),
    "image_encoder": ("▄", "i"),
    "denoiser": ("█", "#"),
    "vae": ("▓", "v"),
    "vectors": ("█", "#"),
    "codes": ("█", "#"),
    "graph": ("▒", "g"),
    "lists": ("▀", "l"),
    "labels": ("▄", "n"),
    "codebooks": ("▓", "b"),
    "workspace": ("▞", "w"),
    "scores": ("▞", "s"),
    "gathered": ("▀", "g"),
    "peers": ("▐", "p"),
    "safety_checker": ("▟", "f"),
    "activations": ("▚", "%"),
    "logits": ("▞", "l"),
    "graphs": ("▞", "c"),
    "draft": ("▀", "d"),
    "adapters": ("▄", "a"),
    "encoder": ("▄", "e"),
    "state": ("▀", "s"),
    "other": ("▌", "+"),
    "idle": ("▗", "~"),
    "context": ("▙", "c"),
    "used": ("▄", "u"),
    "free": ("·", "."),
    "reserve": ("░", ":"),
    "missing": ("╳", "x"),
}
_UNKNOWN = ("▐", "?")
NOTHING_RATIO = 1e-6  # a share of all parts that is a rest of their rounding
ORDER = (
    "weights", "denoiser", "text_encoder", "image_encoder", "vae", "vectors", "codes", "graph", "lists",
    "labels", "codebooks", "safety_checker", "gradients", "optimizer", "draft", "adapters", "cache", "kv_cache",
    "cache_spare", "state", "activations", "encoder", "scores", "logits", "workspace", "graphs", "gathered",
    "peers", "other", "idle", "context", "used", "free", "reserve",
)  # fmt: skip


def glyph(part: str, *, plain: bool = False) -> str:
    """The letter a part is drawn with; ``plain`` = ASCII."""
    return GLYPHS.get(part, _UNKNOWN)[plain]


def ordered(parts: Mapping[str, float]) -> dict[str, float]:
    """The parts there are, in the order they are drawn; ``missing`` is not drawn as a part."""
    least = NOTHING_RATIO * sum(size for name, size in parts.items() if name != "missing")
    known = [name for name in ORDER if parts.get(name, 0.0) > least]
    others = [name for name, size in parts.items() if size > least and name not in (*ORDER, "missing")]
    at = next((at for at, name in enumerate(known) if name in ("used", "free", "reserve")), len(known))
    return {name: parts[name] for name in (*known[:at], *others, *known[at:])}


def cells(parts: Mapping[str, float], width: int, total: float = 0.0) -> list[tuple[str, int]]:
    """How many of ``width`` cells each part takes; what lies beyond the card is told as ``missing``.

    Args:
        parts: sizes by name, any unit; ``missing`` = by how much all of them exceed the card.
        width: cells for ``total``.
        total: what the whole width stands for, so that bars can be compared; the sum of the parts when smaller.
    """
    shown = ordered(parts)
    whole = sum(shown.values())
    full = max(total, whole)
    if full <= 0 or width < 1:
        return []
    counts = _apportioned(list(shown.values()), max(1, round(width * whole / full)))
    drawn = [name for name, count in zip(shown, counts, strict=True) for _ in range(count)]
    beyond = round(width * parts.get("missing", 0.0) / full)
    if parts.get("missing", 0.0) > 0:
        beyond = max(1, beyond)
        drawn[-beyond:] = ["missing"] * min(beyond, len(drawn))
    found: list[tuple[str, int]] = []
    for name in drawn:
        if found and found[-1][0] == name:
            found[-1] = (name, found[-1][1] + 1)
        else:
            found.append((name, 1))
    return found


def _apportioned(sizes: list[float], width: int) -> list[int]:
    """``width`` shared out by size, one at least for each as long as there is room, the largest giving way."""
    whole = sum(sizes)
    exact = [size / whole * width for size in sizes]
    counts = [max(1, int(one)) for one in exact]
    while sum(counts) < width:
        at = max(range(len(sizes)), key=lambda n: exact[n] - counts[n])
        counts[at] += 1
    while sum(counts) > width and max(counts) > 1:
        at = max(range(len(sizes)), key=lambda n: (counts[n] > 1, counts[n] - exact[n], counts[n]))
        counts[at] -= 1
    return counts


def text_bar(parts: Mapping[str, float], width: int, total: float = 0.0, *, plain: bool = False) -> str:
    """The bar as one line of text."""
    return "".join(glyph(name, plain=plain) * count for name, count in cells(parts, width, total))


def shown(parts: Mapping[str, float], total: float, decimals: int = 2) -> dict[str, float]:
    """The parts rounded so that the shown ones add up to the shown total: the largest rest goes up first."""
    step = 10.0**-decimals
    floors = {name: int(size / step + 1e-9) for name, size in parts.items()}
    rest = round(total / step) - sum(floors.values())
    rests = sorted(parts, key=lambda name: floors[name] - parts[name] / step)
    for name in rests[: max(0, rest)]:
        floors[name] += 1
    return {name: count * step for name, count in floors.items()}
