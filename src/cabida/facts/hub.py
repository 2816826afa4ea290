"""A model by its repository on a hub: its config.json and the headers of its files, a few kilobytes to megabytes.

``hf:org/name``, with ``@revision``, ``:Q4_K_M`` (a quantisation) or ``/file.gguf`` after it; a page's address too.
``HF_ENDPOINT`` names another hub, ``HF_TOKEN`` opens gated repositories. No weight is fetched.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cabida.errors import CabidaError, EndpointFailed, InvalidInput, Problem
from cabida.facts import hub_cache
from cabida.facts.hub_cache import Record
from cabida.facts.model import Model
from cabida.files import read_text
from cabida.quantity import Source
from cabida.text import problem, tr

if TYPE_CHECKING:
    from cabida.facts.fetch import Unanswered

ENDPOINT = "https://huggingface.co"
_NAME = r"[A-Za-z0-9_](?:[\w-]|\.(?!\.)){0,95}"
_REF = re.compile(
    rf"(?P<repo>{_NAME}/{_NAME})(?:@(?P<revision>[\w.-]+(?:/[\w.-]+)*?))?"
    r"(?::(?P<quant>[\w.-]{1,40})|/(?P<file>(?:[\w.+-]+/){0,4}[\w.+-]+\.gguf))?",
    re.ASCII,
)
_PAGE = re.compile(
    rf"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<repo>{_NAME}/{_NAME})"
    r"(?:/(?:tree|blob|resolve)/(?P<revision>[\w.-]+)(?:/(?P<file>[\w.+/-]+\.gguf))?(?:/[\w.+/-]*)?)?/?(?:\?.*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A repository, and what in it."""

    repo: str
    revision: str = "main"
    quant: str = ""
    file: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What the answer is remembered under."""
        return endpoint(), self.repo, self.revision, self.quant.lower(), self.file


def named(ref: str) -> bool:
    """Whether ``ref`` names the hub itself."""
    return ref.startswith("hf:") or _PAGE.fullmatch(ref) is not None


def might_be(ref: str) -> bool:
    """Whether ``ref`` has the form of a repository's name."""
    return _REF.fullmatch(ref) is not None


def _offline() -> bool:
    told = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    return told or os.environ.get("CABIDA_ONLINE") == "0"


def endpoint() -> str:
    """The hub in use."""
    return (os.environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")


def asked(ref: str) -> Asked:
    """What ``ref`` asks for.

    Raises:
        InvalidInput: CB-F043, it names no repository.
    """
    found = _PAGE.fullmatch(ref) or _REF.fullmatch(ref.removeprefix("hf:").strip("/"))
    if found is None:
        raise InvalidInput(problem("CB-F043", ref=ref[:200]))
    parts = {name: part for name, part in found.groupdict().items() if part}
    return Asked(**parts)


_told: dict[tuple[str, ...], Model] = {}


def model(ref: str, *, sure: bool = True) -> Model:
    """The model of a repository, from the cache where it was asked before.

    Args:
        ref: see this module's text.
        sure: whether the user said that it is on the hub; if not, a hub that can't be reached or has no such
            repository is no failure of the network but an unknown name.

    Raises:
        InvalidInput: CB-F010 (unknown name), CB-F043 (no name), or what a file is refused for.
        EndpointFailed: CB-F017 (absent or wrong), CB-F040 (gated), CB-F041 (unreachable).
    """
    want = asked(ref)
    key = (str(hub_cache.folder()), *want.names)
    if key not in _told:
        _told[key] = _downloaded(want) or _model(want, _record(want, sure=sure))
    return _told[key]


def _downloaded(want: Asked) -> Model | None:
    """The model as huggingface_hub has it on this disk, when its weights are there, all of them.

    Layout: ``models--org--name/refs/REVISION`` holds a commit, ``snapshots/COMMIT`` the files.
    """
    from cabida.facts.paths import from_path

    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    home = Path(os.environ.get("HF_HOME") or shared / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    if want.quant or want.file:
        return None
    try:
        kept = hub.expanduser() / f"models--{want.repo.replace('/', '--')}"
        pointer = kept / "refs" / want.revision
        commit = read_text(pointer, 100).strip() if pointer.exists() else want.revision
        folder = kept / "snapshots" / commit
        if not re.fullmatch(r"[0-9a-f]{40}", commit) or not any(folder.glob("*.safetensors")):
            return None
        found = from_path(str(folder))
    except (OSError, RuntimeError, ValueError, InvalidInput):
        return None  # a download that stopped, or one that can't be read: the hub knows
    return replace(found, id=want.repo) if found else None


def _record(want: Asked, *, sure: bool) -> Record:
    from cabida.facts.models import unknown

    record, fresh = hub_cache.known(*want.names)
    if record is not None and (fresh or _offline() or re.fullmatch(r"[0-9a-f]{40}", want.revision)):
        return record
    if _offline() and not sure:
        raise InvalidInput(unknown(want.repo))
    if _offline():
        raise EndpointFailed(_unreachable(endpoint(), want, tr("facts.hub.offline")))
    from cabida.facts.fetch import UNREACHABLE, Unanswered
    from cabida.facts.hub_read import read

    try:
        found = read(want, record)
    except Unanswered as error:
        if error.kind == UNREACHABLE and record is not None:
            return record  # what was seen last, under its own date
        raise _told_as(error, want, sure=sure) from error
    if found is record:
        hub_cache.touch(found.version, *want.names)
    else:
        hub_cache.keep(found, *want.names)
    return found


def _unreachable(file: str, want: Asked, reason: str) -> Problem:
    """CB-F041, with the name under which the model is known here when it is."""
    from cabida.facts.models import find_model

    known = find_model(want.repo)
    told = problem("CB-F041", file=file, ref=want.repo, reason=reason, known=known.id if known else "")
    return told if known else replace(told, why="")


def _told_as(error: Unanswered, want: Asked, *, sure: bool) -> CabidaError:
    """The failure as a person should read it."""
    from cabida.facts.models import nearest, unknown

    gated = "gated" in error.headers.get("x-error-code", "").lower() or (
        error.kind == "refused" and error.headers.get("x-error-code") != "RepoNotFound"
    )
    missing = error.kind == "absent" or (error.kind == "refused" and not gated)
    if not sure and (missing or error.kind == "unreachable"):
        return InvalidInput(unknown(want.repo))
    file, reason = error.url.partition("?")[0], error.reason
    if gated:
        return EndpointFailed(problem("CB-F040", file=file, ref=want.repo, reason=reason))
    if error.kind == "unreachable":
        return EndpointFailed(_unreachable(file, want, reason))
    near = ", ".join(nearest(want.repo))
    told = problem("CB-F017", file=file, ref=want.repo, reason=reason, nearest=near)
    return EndpointFailed(told if near else replace(told, why=""))


def _model(want: Asked, record: Record) -> Model:
    """The noun behind a record."""
    from cabida.facts.architectures import from_config
    from cabida.facts.parts import refuse_too_small, with_headers

    where = f"{endpoint()}/{want.repo}"
    at = f"@{record.version[:12]}" if record.version else ""
    if record.container == "gguf":
        from cabida.facts.gguf_header import Tensor
        from cabida.facts.gguf_model import model_of

        tensors = [
            Tensor(name, kind, held.elements_count, held.size_bytes, 0)
            for (name, kind), held in record.tensors.items()
        ]
        made = model_of(record.config, tensors, f"{where}/{record.file}", record.projector)
        what = f"GGUF header of {want.repo}/{record.file}{at}" + f" with {record.projector}" * bool(
            record.projector
        )
        return replace(made, id=want.repo, source=Source(what, where, record.seen, "vendor"))
    what = "config.json and safetensors headers" if record.container else "config.json"
    source = Source(f"{what} of {want.repo}{at}", where, record.seen, "vendor")
    made = from_config(record.config, source, want.repo, f"{where}/config.json")
    if not record.container:
        return made
    refuse_too_small(made, sum(held.size_bytes for held in record.tensors.values()), "CB-F012", where)
    return with_headers(made, record.tensors, record.container)
