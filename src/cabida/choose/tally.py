"""Why candidates fell: one sentence a reason, with its number, its count and the nearest example."""

from __future__ import annotations

from dataclasses import dataclass, field

from cabida.plan import Rejection
from cabida.text import number, tr


@dataclass(slots=True)
class _Group:
    count: int = 0
    closeness: float = float("-inf")
    example: str = ""
    values: dict[str, object] = field(default_factory=dict)


class Tally:
    """Counts rejections by reason and keeps the one that came closest to passing."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    def reject(self, reason: str, count: int, example: str, closeness: float, **values: object) -> None:
        """``count`` candidates fell for ``reason`` (text key ``choose.rejected.<reason>``).

        ``closeness`` ranks how near this one came to passing; ``values`` fill the sentence.
        """
        group = self._groups.setdefault(reason, _Group())
        group.count += count
        if closeness > group.closeness:
            group.closeness, group.example, group.values = closeness, example, values

    @property
    def count(self) -> int:
        """All rejected candidates."""
        return sum(group.count for group in self._groups.values())

    def rejections(self) -> tuple[Rejection, ...]:
        """The reasons, largest group first."""
        ordered = sorted(self._groups.items(), key=lambda item: -item[1].count)
        return tuple(
            Rejection(
                reason,
                tr(
                    f"choose.rejected.{reason}",
                    count=number(group.count, 7),
                    example=group.example,
                    **group.values,
                ),
                group.count,
                group.example,
            )
            for reason, group in ordered
        )
