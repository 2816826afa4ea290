"""Answers of the catalogue that take a while, kept as long as the facts and the price book are as they were."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cabida.facts.known import by_name_only
from cabida.text import locale

MOST_FITS = 24  # answers, each of a few hundred rows
MOST_TABLES = 8
MOST_BOOKS = 4  # of a hundred thousand rows when large lists were brought in


def world(as_of: str, store: str | None) -> str:
    """The digest of the facts and of the prices that are imported."""
    from cabida import facts
    from cabida.evidence import book

    return book.digest_over(facts.digest(), as_of, store=store)


def gpu_table(as_of: str, store: str | None) -> list[dict[str, Any]]:
    """Every accelerator with its figures and what it rents for."""
    return _gpu_table(world(as_of, store), as_of, store, locale())


@lru_cache(maxsize=MOST_TABLES)
def _gpu_table(_world: str, as_of: str, store: str | None, _locale: str) -> list[dict[str, Any]]:
    from cabida.report.cards import gpu_cards

    return gpu_cards(as_of, store=store)


def fits_on(gpu: str, as_of: str) -> list[dict[str, Any]]:
    """What fits on one accelerator: a row for each model, at the widest format that fits."""
    from cabida import facts

    return _fits_on(facts.digest(), gpu, as_of, locale())


@lru_cache(maxsize=MOST_FITS)
def _fits_on(_facts: str, gpu: str, as_of: str, _locale: str) -> list[dict[str, Any]]:
    from cabida import app

    with by_name_only():
        return app.fit(gpu=gpu, as_of=as_of)["rows"]  # type: ignore[no-any-return]


def fits_of(
    model: str, as_of: str, weights: str, concurrency: int | None, context: int | None
) -> dict[str, Any]:
    """On what a model fits: ``rows``, one for each accelerator with the fewest that hold it; ``left_out`` of them."""
    from cabida import facts

    return _fits_of(facts.digest(), model, as_of, weights, concurrency, context, locale())


@lru_cache(maxsize=MOST_FITS)
def _fits_of(
    _facts: str,
    model: str,
    as_of: str,
    weights: str,
    concurrency: int | None,
    context: int | None,
    _locale: str,
) -> dict[str, Any]:
    from cabida import app

    with by_name_only():
        return app.fit(
            model, as_of=as_of, weights=weights or None, concurrency=concurrency, min_context=context
        )


def prices_in_force(gpu: str | None, as_of: str, store: str | None, **asked: str) -> list[dict[str, Any]]:
    """The prices in force, as ``app.prices`` gives them; ``asked``: provider, region, capacity, sort, currency."""
    return _prices_in_force(world(as_of, store), gpu, as_of, store, tuple(sorted(asked.items())))


@lru_cache(maxsize=MOST_BOOKS)
def _prices_in_force(
    _world: str, gpu: str | None, as_of: str, store: str | None, asked: tuple[tuple[str, str], ...]
) -> list[dict[str, Any]]:
    from cabida import app

    return app.prices(gpu, as_of=as_of, store=store, **dict(asked))
