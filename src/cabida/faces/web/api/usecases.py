"""The use cases as operations: which command each asks, how its files come, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BRIEF, DECISION = "brief", "decision"


@dataclass(frozen=True, slots=True)
class Given:
    """Something that a command takes as a file and a request as content or as the id of what is on the shelf.

    Attributes:
        field: what the request calls it.
        kind: "brief" (YAML or an id), "decision" (JSON or an id), else the name of a file of text.
        flag: of the command; "" = an argument.
        needed: whether the command can't do without.
    """

    field: str
    kind: str
    flag: str = ""
    needed: bool = True


@dataclass(frozen=True, slots=True)
class UseCase:
    """One operation.

    Attributes:
        path: below ``/api/v1``; ``{id}`` is the command's argument.
        words: the command.
        method: GET takes a query; POST takes JSON, or a form with files where there is ``upload``.
        tag: its group in the list.
        answer: what its JSON is.
        given: files of the command that come as content.
        upload: argument or flag that takes the files of a form; "" = none come.
        needs_file: whether at least one has to.
        left_out: parameters of the command that a request has no use for.
        always: flags that are always given.
        writes: whether it changes the store, so that only editors may.
        most: of fields whose bound is lower than the command's, since others wait meanwhile.
        names: what an ``{id}`` that isn't there is called, told with 404.
    """

    path: str
    words: str
    method: Literal["GET", "POST", "DELETE"] = "POST"
    tag: str = "answers"
    answer: Literal["object", "array"] = "object"
    given: tuple[Given, ...] = ()
    upload: str = ""
    needs_file: bool = True
    left_out: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    writes: bool = False
    names: str = ""
    most: tuple[tuple[str, int], ...] = ()

    @property
    def operation_id(self) -> str:
        """Its name in programs made from the description."""
        return "_".join(
            [self.method.lower(), *self.path.strip("/").replace("{id}", "one").replace("-", "_").split("/")]
        )


_BRIEF, _DECISION = Given("brief", BRIEF), Given("decision", DECISION)
_CHECKED = ("brief", "software", "pc", "rack", "pitfalls")


def _check(one: str) -> tuple[str, ...]:
    return tuple(name for name in _CHECKED if name != one)


USE_CASES = (
    UseCase("/fit", "fit", left_out=("every",)),
    UseCase("/speed", "speed", given=(Given("trace", "trace.csv", "--trace", needed=False),),
            most=(("prompts", 100_000),)),
    UseCase("/cost", "cost", given=(Given("brief", BRIEF, needed=False), Given("decision", DECISION, needed=False))),
    UseCase("/hold", "hold", given=(Given("hours", "hours.csv", "--hours", needed=False),)),
    UseCase("/own", "own", left_out=("every",)),
    UseCase("/mix", "mix", given=(_BRIEF,), most=(("scenarios", 100),)),
    UseCase(
        "/ask", "ask", given=(Given("brief", BRIEF, "--brief", needed=False),
                              Given("decision", DECISION, "--decision", needed=False)),
    ),
    UseCase("/here", "here", "GET", left_out=()),
    UseCase("/compare", "compare", "GET", "catalogue"),
    UseCase("/facts", "facts list", "GET", "catalogue", "array"),
    UseCase("/facts/check", "facts check", "GET", "catalogue"),
    UseCase("/facts/{id}", "facts show", "GET", "catalogue", left_out=("id_",), names="fact"),
    UseCase("/models", "models", "GET", "catalogue", "array"),
    UseCase("/prices", "prices list", "GET", "prices", "array"),
    UseCase("/prices/history", "prices history", "GET", "prices"),
    UseCase("/prices/aside", "prices aside", "GET", "prices", "array"),
    UseCase("/prices/rates", "prices rates", "GET", "prices", "array"),
    UseCase("/prices/api", "prices api", "GET", "prices"),
    UseCase("/prices/import", "prices import", tag="prices", upload="files", writes=True),
    UseCase("/prices/{id}", "prices show", "GET", "prices", left_out=("id_",), names="price"),
    UseCase("/init", "init", "GET", "briefs", left_out=("file",)),
    UseCase("/check", "check", tag="briefs", given=(_BRIEF,), left_out=_check("brief")),
    UseCase("/check/software", "check", tag="checks", left_out=(*_check("software"), "assume")),
    UseCase(
        "/check/pc", "check", tag="checks", given=(Given("parts", "parts.yaml", "--pc", needed=False),),
        left_out=(*_check("pc"), "assume"),
    ),
    UseCase(
        "/check/rack", "check", tag="checks", given=(Given("rack", "rack.yaml", "--rack"),),
        left_out=(*_check("rack"), "assume"),
    ),
    UseCase("/pitfalls", "check", "GET", "checks", left_out=(*_check(""), "assume"), always=("--pitfalls",)),
    UseCase("/explain", "explain", tag="decisions", given=(_DECISION,)),
    UseCase("/launch", "launch", tag="decisions", given=(_DECISION,)),
    UseCase(
        "/diff", "diff", tag="decisions", given=(Given("before", DECISION), Given("after", DECISION)),
        left_out=("form", "assume", "heading"),
    ),
    UseCase("/bench/plan", "bench plan", tag="bench", given=(Given("brief", BRIEF, needed=False),
                                                             Given("decision", DECISION, needed=False))),
    UseCase("/track", "track", tag="evidence", given=(_DECISION,), upload="--billing", needs_file=False,
            left_out=("outputs",)),
    UseCase("/traffic", "traffic", tag="evidence", upload="sources", left_out=("trace", "brief", "for_s")),
    UseCase("/validate", "validate", tag="evidence", upload="files", needs_file=False),
    UseCase("/observations", "observations list", "GET", "evidence"),
    UseCase("/observations", "observe", tag="evidence", upload="files", writes=True),
    UseCase("/observations/forget", "observations forget", tag="evidence", writes=True),
    UseCase("/observations/{id}", "observations show", "GET", "evidence", left_out=("id",), names="observation"),
    UseCase("/calibration", "calibrate", "GET", "evidence", left_out=("files", "undo", "listing", "dry_run"),
            always=("--list",)),
    UseCase("/calibration", "calibrate", "DELETE", "evidence", left_out=("files", "undo", "listing", "dry_run"),
            always=("--undo",), writes=True),
    UseCase("/quotes", "quote list", "GET", "quotes", "array"),
    UseCase("/quotes", "quote add", tag="quotes", answer="array", upload="file", writes=True),
    UseCase("/quotes/audit", "quote audit", tag="quotes", left_out=("letter", "annex", "all_"),
            given=(Given("decision", DECISION, "--decision", needed=False),)),
    UseCase("/quotes/compare", "quote compare", tag="quotes",
            given=(Given("decision", DECISION, "--decision", needed=False),)),
    UseCase("/quotes/{id}", "quote show", "GET", "quotes", left_out=("quote", "as_offer"), names="quote"),
    UseCase("/quotes/{id}/offer", "quote show", "GET", "quotes", left_out=("quote", "as_offer"),
            always=("--as-offer",), names="quote"),
)  # fmt: skip
