"""Lists by pages: searched by a part of the name, the newest first, unmoved by what is added meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cabida.errors import InvalidInput
from cabida.evidence.shelf.bounds import LONGEST_KEY_CHARS, cut, searchable
from cabida.evidence.shelf.ids import SHAPE
from cabida.evidence.shelf.nouns import Page
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Select, Table

Item = TypeVar("Item")


def matching(query: Select[Any], table: Table, search: str, after: str, most: int) -> Select[Any]:
    """The query for one page and one item more, which tells that there is another page.

    Raises:
        InvalidInput: CB-E226, ``after`` is no cursor.
    """
    if words := searchable(search.strip()[:LONGEST_KEY_CHARS]):
        query = query.where(table.c.search.contains(words.replace("\x00", ""), autoescape=True))
    return following(query, table, after, most)


def following(query: Select[Any], table: Table, after: str, most: int) -> Select[Any]:
    """The same of a list that isn't searched.

    Raises:
        InvalidInput: CB-E226, ``after`` is no cursor.
    """
    if after:
        if SHAPE.fullmatch(after) is None:
            raise InvalidInput([problem("CB-E226", cursor=cut(after, 40))])
        query = query.where(table.c.id < after)
    return query.order_by(table.c.id.desc()).limit(most + 1)


def page_of(found: Sequence[Item], most: int) -> Page[Item]:
    """The page; its cursor is the id of its last item."""
    items = tuple(found[:most])
    return Page(items, str(getattr(items[-1], "id", "")) if len(found) > most else "")
