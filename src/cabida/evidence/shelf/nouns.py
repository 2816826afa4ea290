"""What is kept. Times are UTC, ISO 8601 to the second; "" = it didn't happen; ids sort in the order they were made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some of a list, and the cursor that gives the following ones; "" = these are the last."""

    items: tuple[Item, ...]
    next: str = ""


@dataclass(frozen=True, slots=True)
class KeptBrief:
    """A brief as it was in one version.

    Attributes:
        id: ``b-...``.
        text: YAML as it was typed; "" in lists that were asked without texts.
        version: from 1; who changes the brief names the version they saw.
        made_at, made_by: of version 1.
        changed_at, changed_by: of this version.
        gone: whether it was dropped. Its versions stay.
        workload: class as the text says it; "" = it doesn't.
        size_bytes: of the text.
    """

    id: str
    name: str
    text: str
    version: int
    made_at: str
    made_by: str
    changed_at: str
    changed_by: str
    gone: bool = False
    workload: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KeptDecision:
    """A decision without its content, which :func:`decision_text` gives.

    Attributes:
        id: ``d-...``.
        brief_id, brief_version: that it answers; "" and 0 where the brief isn't kept.
        winner: title of the chosen option; ``None`` = none was chosen.
        unit_cost: of the winner for one accepted output (or run), in ``currency``; ``None`` = unknown.
        exit_code: 0 = something satisfies the brief, 4 = nothing does; ``None`` = it doesn't say.
        digest: SHA-256 of the content.
    """

    id: str
    name: str
    brief_id: str
    brief_version: int
    as_of: str
    language: str
    workload: str
    winner: str | None
    unit_cost: float | None
    currency: str
    exit_code: int | None
    made_at: str
    made_by: str
    gone: bool = False
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is worked out in the background.

    Attributes:
        id: ``j-...``.
        asked: what was asked, as plain data; never a key or a token.
        state: waiting, running, done, failed, cancelled or interrupted.
        progress: what was last told.
        errors: problems, each as ``Problem.as_dict`` gives them.
        key: said by who asked: asking again under it gives this job back.
        server: which works on it.
    """

    id: str
    kind: str
    asked: dict[str, Any]
    state: str
    progress: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    errors: tuple[dict[str, Any], ...] = ()
    by: str = ""
    made_at: str = ""
    began_at: str = ""
    ended_at: str = ""
    key: str = ""
    server: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A benchmark run: its plan, and the folder with what it measured.

    Attributes:
        id: ``r-...``.
        state: planned, waiting, running, done, failed, cancelled or interrupted.
        job: id of the job that runs it; "" = none.
        summary: the figures that lists show; ``None`` = none yet.
    """

    id: str
    name: str
    plan_text: str
    folder: str
    state: str
    made_at: str
    made_by: str
    changed_at: str = ""
    changed_by: str = ""
    job: str = ""
    summary: dict[str, Any] | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A key to the server, of which only a digest is kept.

    Attributes:
        id: ``t-...``.
        role: reader or editor.
    """

    id: str
    name: str
    role: str
    made_at: str
    made_by: str
    expires_at: str
    revoked_at: str = ""
    last_used_at: str = ""

    def holds(self, at: str) -> bool:
        """Whether it opens anything at a time, UTC, ISO 8601."""
        return not self.revoked_at and at < self.expires_at


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who changed what.

    Attributes:
        id: from 1, without a gap.
        what: made, changed, dropped, restored, kept, imported, marked, revoked, asked, ended.
        kind: brief, decision, job, run, token, observations, prices, quote, month.
        of: id of the thing.
        before, after: digests (SHA-256) of what it was and is; "" = nothing.
        name: of the thing, as people call it.
        digest: of this line and of the digest of the one before.
    """

    id: int
    at: str
    by: str
    what: str
    kind: str
    of: str
    before: str = ""
    after: str = ""
    name: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """Whether the audit log is as it was written.

    Attributes:
        lines_count: lines looked at.
        broken_at: id of the first line that is missing or was changed; ``None`` = all hold.
    """

    lines_count: int
    broken_at: int | None = None
