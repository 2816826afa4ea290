"""What a tool is, what it is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.faces.mcp.args import Arg, schema_of
from cabida.text import tr

if TYPE_CHECKING:
    from cabida.faces.mcp.held import Held
    from cabida.plan import Progress


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server stands, and what it may do there.

    Attributes:
        held: decisions made since it started.
        root: the folder whose files may be named; ``None`` = no file may: whoever asks is somewhere else.
        store: file or URL of the store; "" = the user's own.
        bench: whether endpoints may be measured.
        elsewhere: whether those may be on other machines.
        as_text: answers as JSON in the text, for clients that pass nothing else on.
        language: of answers that ask for none.
    """

    held: Held
    root: Path | None = None
    store: str = ""
    bench: bool = False
    elsewhere: bool = False
    as_text: bool = False
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a tool.

    Attributes:
        said: its arguments, sound by their schema.
        place: of the server.
        person: whose call it is; "" = whoever runs the server.
        may_edit: whether they may change what is kept.
        folder: an empty one, for texts that a use case wants as files; gone after the call.
        progress: told what is being done.
    """

    said: Mapping[str, Any]
    place: Place
    folder: Path
    person: str = ""
    may_edit: bool = True
    progress: Progress | None = None

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or what it is by itself."""
        return self.said.get(name, default)

    def only(self, *names: str) -> dict[str, Any]:
        """Those of these arguments that were sent."""
        return {name: self.said[name] for name in names if name in self.said}

    @property
    def store(self) -> str | None:
        """Where things are kept, as use cases take it."""
        return self.place.store or None


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answers.

    Attributes:
        data: everything, as plain data.
        say: the answer in a sentence or two.
        brief: what of it is shown first; ``data`` itself when left out.
        links: resources that hold it whole: address -> name.
    """

    data: dict[str, Any]
    say: str
    brief: dict[str, Any] | None = None
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """A use case as an assistant calls it.

    Attributes:
        name: of the tool; its title and description are texts ``mcp.title.NAME`` and ``mcp.tool.NAME``.
        does: answers a call.
        args: what it takes.
        gives: what an answer has, name -> JSON type.
        covers: use cases behind it.
        changes: whether it changes what is kept.
        loses: whether something is lost by it.
        reaches: whether it may ask something beyond this machine.
        here: whether it is about this machine or its files, so that nobody elsewhere is offered it.
        long: whether it takes seconds, so that it tells of its progress and waits its turn.
    """

    name: str
    does: Callable[[Asked], Told]
    args: tuple[Arg, ...] = ()
    gives: Mapping[str, str] = field(default_factory=dict)
    covers: tuple[str, ...] = ()
    changes: bool = False
    loses: bool = False
    reaches: bool = False
    here: bool = False
    long: bool = False

    def input_schema(self) -> dict[str, Any]:
        """What it takes, described in the language in use."""
        return schema_of(self.args)

    def output_schema(self) -> dict[str, Any]:
        """What it gives: which of it, depends on ``detail`` and ``at``."""
        named = {name: {"type": kind} for name, kind in self.gives.items()}
        return {"type": "object", "properties": named}

    @property
    def title(self) -> str:
        """Its name as a person reads it."""
        return tr(f"mcp.title.{self.name}")

    @property
    def description(self) -> str:
        """What it is for, in the language in use."""
        return tr(f"mcp.tool.{self.name}")
