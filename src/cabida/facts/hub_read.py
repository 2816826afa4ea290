"""The few requests that tell a repository's model: its config, its index, and the header of each file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from cabida.errors import InvalidInput
from cabida.facts import checkpoint, gguf, gguf_header
from cabida.facts.fetch import ABSENT, WRONG, Answer, Unanswered, Wanted, Web
from cabida.facts.fields import CONFIG_BYTES_MOST
from cabida.facts.gguf_header import Header, LongArray, read_header
from cabida.facts.hub import Asked, endpoint
from cabida.facts.hub_cache import Record
from cabida.facts.parts import Stored
from cabida.text import problem, tr

FIRST_BYTES = 2**16  # of a safetensors file: most headers are shorter
GGUF_FIRST_BYTES, GGUF_MORE_BYTES = 2**20, 2**23
SHARDS_MOST = 2000
TOGETHER = 12  # requests at a time
LISTING_BYTES_MOST = 16 * 10**6
SIZE_UNTOLD = 2**60


def read(want: Asked, before: Record | None) -> Record:
    """What a repository says now; ``before`` itself when it stands where it stood.

    Raises:
        Unanswered: the hub can't be reached, refuses, or answers what can't be.
        InvalidInput: a file that can't be read.
    """
    try:
        web = Web(endpoint(), os.environ.get("HF_TOKEN", "").strip())
    except ValueError:
        raise InvalidInput(problem("CB-F044", endpoint=endpoint()[:200])) from None
    try:
        return _Repository(web, want).record(before)
    finally:
        web.close()


class _Repository:
    """One repository at one revision."""

    def __init__(self, web: Web, want: Asked) -> None:
        self.web, self.want = web, want
        self.revision = want.revision

    def record(self, before: Record | None) -> Record:
        """What it holds: a GGUF when one is asked for or there is nothing else."""
        config = None if self.want.quant or self.want.file else self._document("config.json")
        if config is None:
            return self._gguf(before, absent=not (self.want.quant or self.want.file))
        version = self._version(config)
        if before is not None and version and version == before.version:
            return before
        parsed = _object(config, self._url("config.json"))
        with ThreadPoolExecutor(TOGETHER) as pool:
            beside = (
                None
                if "quantization_config" in parsed
                else pool.submit(self._document, "hf_quant_config.json")
            )
            index = pool.submit(self._document, "model.safetensors.index.json", checkpoint.INDEX_BYTES_MOST)
            listed, more = index.result(), beside.result() if beside else None
            if more is not None:
                parsed["quantization_config"] = _object(more, self._url("hf_quant_config.json"))
            names = _shards(listed, self._url("model.safetensors.index.json"))
            tensors = self._tensors(pool, names, required=listed is not None)
        if tensors is None:
            found = self._listing(required=False)
            if gguf.chosen(found):
                return self._gguf(before, absent=False)
        container = "safetensors" if tensors else ""
        return Record(version, _today(), parsed, container, "config.json", "", tensors or {})

    def _version(self, answer: Answer) -> str:
        """The commit, to which further requests keep; else the etag."""
        commit = answer.headers.get("x-repo-commit", "")
        if len(commit) == 40 and commit.isalnum():
            self.revision = commit
            return commit
        return answer.headers.get("etag", "")[:200]

    def _tensors(
        self, pool: ThreadPoolExecutor, names: Sequence[str], *, required: bool
    ) -> dict[tuple[str, str], Stored] | None:
        """The tensors of all shards; ``None`` when the one file that might be there isn't."""
        tensors: dict[tuple[str, str], Stored] = {}
        headers = [pool.submit(self._header, name) for name in names]
        left = checkpoint.ALL_HEADERS_BYTES_MOST
        try:
            for name, header in zip(names, headers, strict=True):
                body, total = header.result()
                left = checkpoint.less(left, len(body), self._url(name))
                checkpoint.join(tensors, checkpoint.tensors_of(body, total, self._url(name)))
        except Unanswered as error:
            if error.kind == ABSENT and not required:
                return None
            raise
        finally:
            for header in headers:
                header.cancel()
        return tensors

    def _header(self, name: str) -> tuple[bytes, int]:
        """A shard's header, and how large the shard is."""
        path, url = self._path(name), self._url(name)
        start = self.web.get(path, Wanted(first=0, count=FIRST_BYTES))
        total = SIZE_UNTOLD if start.total_bytes is None else start.total_bytes
        length = checkpoint.header_length(start.body[:32], total, url)
        end = checkpoint.LENGTH_BYTES + length
        body = start.body[checkpoint.LENGTH_BYTES : end]
        if end > len(start.body):
            more = Wanted(first=len(start.body), count=end - len(start.body))
            body += self.web.get(path, more).body
        if len(body) < length:
            raise Unanswered(WRONG, tr("facts.web.cut"), url)
        return body, total

    def _gguf(self, before: Record | None, *, absent: bool) -> Record:
        """The GGUF file asked for, its further parts and its projector."""
        names = self._listing(required=True)
        first = self.want.file if self.want.file in names else gguf.chosen(names, self.want.quant)
        if not first or (self.want.file and first != self.want.file):
            files = ", ".join(name for name in names if not gguf.PROJECTOR.search(name))[:300]
            reason = (
                tr("facts.hub.no_config") if absent or not files else tr("facts.hub.no_gguf", files=files)
            )
            raise Unanswered(ABSENT, reason, self._url(self.want.file or self.want.quant or "config.json"))
        if before is not None and self.revision == before.version:
            return before
        folder, _, name = first.rpartition("/")
        inside = f"{folder}/" if folder else ""
        parts = [inside + part for part in gguf.parts_of(name)]
        near = [other.removeprefix(inside) for other in names if "/" not in other.removeprefix(inside)]
        projector = gguf.projector_of(name, near) or gguf.projector_of(
            name, [n for n in names if "/" not in n]
        )
        beside = [next(n for n in (inside + projector, projector) if n in names)] if projector else []
        with ThreadPoolExecutor(TOGETHER) as pool:
            headers = list(pool.map(self._gguf_header, parts + beside))
        joined = gguf.joined(headers, self._url(first), projector)
        version = self.revision if self.revision != self.want.revision else ""
        return Record(
            version, _today(), _small(joined.metadata), "gguf", first, projector, _added(joined.tensors)
        )

    def _gguf_header(self, name: str) -> Header:
        """A GGUF header by ranges that grow: most vocabularies need a few megabytes."""
        path = self._path(name)
        start = self.web.get(path, Wanted(first=0, count=GGUF_FIRST_BYTES))
        total = SIZE_UNTOLD if start.total_bytes is None else start.total_bytes
        return read_header(_growing(self.web, path, start.body, total), total, self._url(name))

    def _listing(self, *, required: bool) -> list[str]:
        """The repository's GGUF files; also tells the commit."""
        path = f"api/models/{self.want.repo}/revision/{quote(self.revision, safe='')}"
        try:
            answer = self.web.get(path, Wanted(most=LISTING_BYTES_MOST))
        except Unanswered:
            if required:
                raise
            return []
        listed = _object(answer, f"{self.web.endpoint}/{path}")
        commit = listed.get("sha")
        if isinstance(commit, str) and len(commit) == 40 and commit.isalnum():
            self.revision = commit
        rows = listed.get("siblings")
        names = (
            [row.get("rfilename") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        )
        return [name for name in names if isinstance(name, str) and _plain(name)][: gguf_header.TENSORS_MOST]

    def _document(self, name: str, most: int = CONFIG_BYTES_MOST) -> Answer | None:
        """A small file of the repository; ``None`` when it has none of that name."""
        try:
            return self.web.get(self._path(name), Wanted(most=most))
        except Unanswered as error:
            absent = error.kind == ABSENT and error.headers.get("x-error-code") in (None, "EntryNotFound")
            if not absent:
                raise
            return None

    def _path(self, name: str) -> str:
        return f"{self.want.repo}/resolve/{quote(self.revision, safe='')}/{quote(name)}"

    def _url(self, name: str) -> str:
        return f"{self.web.endpoint}/{self._path(name)}"


def _growing(web: Web, path: str, start: bytes, total: int) -> Callable[[int], bytes]:
    """Gives a file's bytes in order, ``start`` first."""
    at, step = 0, GGUF_FIRST_BYTES

    def more(count: int) -> bytes:
        nonlocal at, step
        if at == 0 and start:
            at = len(start)
            return start
        step = min(2 * step, GGUF_MORE_BYTES)
        body = web.get(path, Wanted(first=at, count=min(max(count, step), total - at))).body
        at += len(body)
        return body

    return more


def _shards(index: Answer | None, url: str) -> list[str]:
    if index is None:
        return ["model.safetensors"]
    names = checkpoint.index_files(index.body, url)
    if len(names) > SHARDS_MOST:
        raise Unanswered(WRONG, tr("facts.hub.many_files", count=len(names)), url)
    return names


def _object(answer: Answer, url: str) -> dict[str, Any]:
    try:
        parsed = json.loads(answer.body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise Unanswered(WRONG, tr("facts.no_json_object"), url)
    return parsed


def _plain(name: str) -> bool:
    fine = name.lower().endswith(".gguf") and name.isascii() and len(name) < 300 and name.isprintable()
    return fine and ".." not in name and not name.startswith("/")


def _small(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata without its vocabulary, whose length is kept."""
    family = metadata.get("general.architecture")
    tokens = metadata.get("tokenizer.ggml.tokens")
    length = (
        tokens.items_count
        if isinstance(tokens, LongArray)
        else len(tokens)
        if isinstance(tokens, list)
        else 0
    )
    kept = {
        name: value
        for name, value in metadata.items()
        if not name.startswith("tokenizer.") and not isinstance(value, LongArray)
    }
    return {f"{family}.vocab_size": length, **kept} if length else kept


def _added(tensors: Sequence[gguf_header.Tensor]) -> dict[tuple[str, str], Stored]:
    held: dict[tuple[str, str], Stored] = {}
    for one in tensors:
        checkpoint.join(held, {(one.name, one.type): Stored(one.elements_count, one.size_bytes)})
    return held


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
