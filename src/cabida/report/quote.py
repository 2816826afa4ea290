"""An audited offer as parts - sentences and tables - that the terminal, Markdown and a page are all made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cabida.procure import Audit, Comparison
from cabida.procure.compare import name_of
from cabida.procure.letter import basis, plain
from cabida.procure.nouns import SEVERITIES, Read
from cabida.procure.subject import whole
from cabida.report.origins import origin
from cabida.text import money, number, percent, printable, tr

OPEN_SHOWN = 12  # of the useful gaps
MONTHS_SHOWN = 14


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; ``right``: columns of figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A section: its title, sentences and tables."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = field(default=())


def parts(made: Audit) -> tuple[Part, ...]:
    """The audit as a buyer reads it: what blocks, what to ask, what it costs, what can be owed, what to test."""
    found = (
        _findings(made),
        _open(made),
        _price(made),
        _placed(made),
        _owed(made),
        _sla(made),
        _against(made),
        _annex(made),
    )
    return tuple(_printable(one) for one in found if one is not None)


def _printable(part: Part) -> Part:
    """Without the control characters that somebody's file may hold."""
    tables = tuple(
        replace(
            one,
            header=tuple(map(printable, one.header)),
            rows=tuple(tuple(map(printable, row)) for row in one.rows),
        )
        for one in part.tables
    )
    return replace(part, sentences=tuple(map(printable, part.sentences)), tables=tables)


def head(made: Audit) -> tuple[str, str]:
    """Title and answer."""
    name = " · ".join(part for part in (made.vendor, made.quote_id, made.title) if part)
    return printable(name), made.answer


def _findings(made: Audit) -> Part | None:
    rows = tuple(
        (tr(f"procure.severity.{one.severity}"), one.sentence, _where(one.reads), one.code)
        for one in made.findings
    )
    if not rows:
        return Part("findings", tr("procure.part.findings"), (tr("procure.part.no_findings"),))
    header = (
        tr("procure.head.severity"),
        tr("procure.head.finding"),
        tr("procure.head.where"),
        tr("procure.head.code"),
    )
    return Part("findings", tr("procure.part.findings"), (), (Table(header, rows),))


def _where(reads: Sequence[Read]) -> str:
    return ", ".join(dict.fromkeys(one.where for one in reads if one.where))


def _open(made: Audit) -> Part | None:
    if not made.gaps:
        return Part("open", tr("procure.part.open"), (_score(made), tr("procure.part.no_gaps")))
    rows = []
    for severity in SEVERITIES:
        own = [one for one in made.gaps if one.severity == severity]
        shown = own[:OPEN_SHOWN] if severity == "useful" else own
        rows += [(tr(f"procure.severity.{severity}"), one.title, one.question) for one in shown]
    more = len(made.gaps) - len(rows)
    told = (_score(made), *([tr("procure.part.more", count=more)] if more else []))
    header = (tr("procure.head.severity"), tr("procure.head.field"), tr("procure.head.question"))
    return Part("open", tr("procure.part.open"), told, (Table(header, tuple(rows)),))


def _score(made: Audit) -> str:
    found = made.completeness
    each = ", ".join(
        tr(
            "procure.part.said",
            said=found.said[name],
            asked=found.asked[name],
            severity=tr(f"procure.severity.{name}"),
        )
        for name in SEVERITIES
        if found.asked.get(name)
    )
    return tr("procure.part.score", score=percent(found.score_ratio, 3), each=each)


def _price(made: Audit) -> Part | None:
    price = made.price
    told = [price.why_not] if price.why_not else []
    if price.listed_money_per_hour is not None:
        told.append(tr("procure.part.listed", price=_hourly(price.listed_money_per_hour, price.currency)))
    if price.useful_money_per_hour is not None:
        told.append(
            tr("procure.part.useful", price=_hourly(price.useful_money_per_hour, price.currency),
               low=_hourly(price.useful_low_money_per_hour or 0.0, price.currency),
               high=_hourly(price.useful_high_money_per_hour or 0.0, price.currency),
               use=percent(price.utilisation_ratio or 0.0))
        )  # fmt: skip
    if price.unknown:
        told.append(
            tr("procure.part.unknown", names=", ".join(tr(f"procure.line.{one}") for one in price.unknown))
        )
    told += [price.rate] if price.rate else []
    rows = tuple(
        (tr(f"procure.line.{one.key}"), _sum(one.money), _range(one.low_money, one.high_money, known=one.known),
         tr("procure.known" if one.known else "procure.unknown"))
        for one in price.lines
        if one.money or one.high_money or not one.known
    )  # fmt: skip
    header = (tr("procure.head.month"), price.currency, tr("procure.head.range"), tr("procure.head.known"))
    tables = (Table(header, rows, (1, 2)),) if rows else ()
    return Part("price", tr("procure.part.price"), tuple(told), tables)


def _hourly(value: float, currency: str) -> str:
    """With its cents: ``2.30 USD``."""
    return f"{whole(value)} {currency}"


def _sum(value: float) -> str:
    return number(round(value), 15) if abs(value) >= 100 else number(value, 3)


def _range(low: float, high: float, *, known: bool) -> str:
    return "" if known and abs(high - low) < 0.01 else f"{_sum(low)} – {_sum(high)}"


def _placed(made: Audit) -> Part | None:
    found, currency = made.placed, made.price.currency
    if found.percentile_ratio is None:
        return Part("book", tr("procure.part.book"), (found.scope,))
    told = tr(
        "procure.part.percentile", share=percent(found.percentile_ratio), count=number(found.sightings_count),
        scope=found.scope, first=found.first_seen, last=found.last_seen, low=money(found.low_money or 0.0, currency),
        middle=money(found.median_money or 0.0, currency), high=money(found.high_money or 0.0, currency),
    )  # fmt: skip
    rows = tuple((one["provider"], one["seen"], origin("", one["what"])) for one in found.sources)
    header = (tr("procure.head.seller"), tr("procure.head.seen"), tr("procure.head.source"))
    return Part("book", tr("procure.part.book"), (told,), (Table(header, rows),))


def _owed(made: Audit) -> Part | None:
    owed = made.liability
    told = (
        [tr("procure.part.worst", total=money(owed.total_money, owed.currency))]
        if owed.total_money is not None
        else []
    )
    rows = tuple(
        (tr(f"procure.owed.part.{key}"), tr("procure.unknown") if value is None else _sum(value))
        for key, value in owed.parts
    )
    tables = [Table((tr("procure.head.owed"), owed.currency), rows, (1,))] if rows else []
    if owed.months:
        shown = (
            owed.months
            if len(owed.months) <= MONTHS_SHOWN
            else (*owed.months[:MONTHS_SHOWN], owed.months[-1])
        )
        cash = tuple(
            (
                number(one.month),
                _sum(one.cash_money),
                tr("procure.unknown") if one.owed_money is None else _sum(one.owed_money),
            )
            for one in shown
        )
        tables.append(
            Table(
                (tr("procure.head.months"), tr("procure.head.cash"), tr("procure.head.leaving")),
                cash,
                (0, 1, 2),
            )
        )
    return Part("owed", tr("procure.part.owed"), (*told, *owed.notes), tuple(tables))


def _sla(made: Audit) -> Part | None:
    told = list(made.sla.notes)
    if made.sla.lost_money is not None:
        told.insert(1, tr("procure.part.lost", money=money(made.sla.lost_money, made.price.currency)))
    return (
        Part("sla", tr("procure.part.sla"), tuple(told))
        if made.purpose != "buy" or made.sla.availability_ratio
        else None
    )


def _against(made: Audit) -> Part | None:
    held = made.against
    if held is None:
        return None
    needs = [one.sentence for one in made.findings if one.kind == "need"]
    told = [
        tr(
            "procure.part.held",
            name=held["decision"],
            as_of=held["as_of"],
            option=held["title"] or tr("procure.none"),
        )
    ]
    told += needs or [tr("procure.part.no_needs")]
    price = held.get("price")
    told += [price["sentence"]] if price else []
    return Part("against", tr("procure.part.against"), tuple(told))


def _annex(made: Audit) -> Part | None:
    if not made.annex:
        return None
    rows = tuple((one.test, one.passes, one.tool, basis(one.basis)) for one in made.annex)
    header = tuple(tr(f"procure.annex.{name}") for name in ("test", "passes", "tool", "source"))
    return Part("annex", tr("procure.part.annex"), (), (Table(header, rows),))


def compared(found: Comparison) -> tuple[Part, ...]:
    """Offers side by side, one column each."""
    unknown = tr("procure.unknown")

    def cash(value: float | None) -> str:
        return unknown if value is None else f"{whole(value)} {found.currency}"

    def share(value: float | None, digits: int = 3) -> str:
        return unknown if value is None else percent(value, digits)

    rows = (
        (tr("procure.compare.offer"), *(one.title for one in found.rows)),
        (tr("procure.compare.listed_hour"), *(cash(one.listed_money_per_hour) for one in found.rows)),
        (tr("procure.compare.useful_hour"), *(cash(one.useful_money_per_hour) for one in found.rows)),
        (
            tr("procure.compare.range"),
            *(
                unknown
                if one.useful_low_money_per_hour is None
                else f"{_sum(one.useful_low_money_per_hour)} – {_sum(one.useful_high_money_per_hour or 0.0)}"
                for one in found.rows
            ),
        ),
        (tr("procure.compare.percentile"), *(share(one.percentile_ratio, 2) for one in found.rows)),
        (tr("procure.compare.complete"), *(share(one.completeness_ratio) for one in found.rows)),
        (tr("procure.compare.worst"), *(cash(one.liability_money) for one in found.rows)),
        (tr("procure.compare.uptime"), *(share(one.uptime_ratio, 6) for one in found.rows)),
        (
            tr("procure.compare.down"),
            *(unknown if one.down_hours is None else number(one.down_hours) for one in found.rows),
        ),
        (tr("procure.compare.blocking"), *(number(one.blocking_count) for one in found.rows)),
        (
            tr("procure.compare.lacks"),
            *(", ".join(one.lacks) or tr("procure.compare.nothing") for one in found.rows),
        ),
    )
    header = ("", *(name_of(one) for one in found.rows))
    part = Part("beside", tr("procure.part.beside"), (found.answer, *found.doubts), (Table(header, rows),))
    return (_printable(part),)


def markdown(title: str, answer: str, found: Sequence[Part]) -> str:
    """The parts as Markdown; nothing of an offer's text is markup."""
    return "\n".join(_lines(title, answer, found)) + "\n"


def _lines(title: str, answer: str, found: Sequence[Part]) -> Iterator[str]:
    yield from (f"# {plain(title)}", "", plain(answer), "")
    for part in found:
        yield from (f"## {plain(part.title)}", "")
        for one in part.sentences:
            yield f"- {plain(one)}"
        if part.sentences:
            yield ""
        for table in part.tables:
            yield "| " + " | ".join(plain(cell) or " " for cell in table.header) + " |"
            yield (
                "|"
                + "|".join(" ---: " if at in table.right else " --- " for at in range(len(table.header)))
                + "|"
            )
            for row in table.rows:
                yield "| " + " | ".join(plain(cell) for cell in row) + " |"
            yield ""
