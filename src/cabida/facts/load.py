"""Hand-kept files become records: read with line numbers, validated all at once, nothing unknown let in.

The row classes are made from the nouns of ``facts.model`` (one description of a fact, not two); their
JSON Schema is ``schema(noun)``. In a file a number may carry its unit ("80 GiB", "3350 GB/s", "989 TFLOPS").
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    field_validator,
)

from cabida.errors import InvalidInput, Problem
from cabida.facts.model import ApiRate, AttentionLayers, MlpLayers
from cabida.files import HAND_KEPT_BYTES_MOST, read_text, text_lines
from cabida.quantity import Source
from cabida.text import closest, problem, tr
from cabida.units import parse

Lines = dict[tuple[str | int, ...], int]

MOST_VALUES = 200_000  # of a hand-kept file; aliases count each time
LEAST_FIGURE, MOST_FIGURE = 1e-12, 1e18
ABOVE_ZERO = frozenset(  # what is divided by, or is nothing when it is zero
    [
        *("Accelerator.label_memory_bytes", "Accelerator.usable_bytes", "Accelerator.memory_bytes_per_s"),
        *("Accelerator.flop_per_s", "Accelerator.tdp_w", "Accelerator.matmul_ratio"),
        *("Accelerator.link_domain_count", "Node.accelerators_count"),
        *("Offer.accelerators_count", "Offer.amount", "Offer.fraction_ratio", "Offer.minimum_count"),
    ]
)
BELOW_ZERO_TOO = ("EnergyFact.value",)  # a yearly change of a price
DATES = ("Offer.seen", "Offer.until", "ApiOffer.seen", "ApiOffer.until", "Release.released")
ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
REQUIRED_TEXT = frozenset(
    [
        *(
            "id",
            "name",
            "vendor",
            "architecture",
            "form_factor",
            "segment",
            "memory_kind",
            "provider",
            "accelerator",
        ),
        *("op", "link", "kind", "family", "compute", "task", "provider_kind", "capacity", "unit", "currency"),
        *("sighting", "model", "model_name", "place", "value", "what"),
    ]
)
WORDS: dict[str, tuple[str, ...]] = {
    "Accelerator.confidence": ("A", "B", "C"),
    "Accelerator.segment": ("datacenter", "workstation", "consumer", "apple", "tpu", "edge"),
    "Engine.kind": ("serve", "train"),
    "Offer.capacity": ("on-demand", "spot", "reserved", "block", "serverless", "buy", "have"),
    "Offer.unit": ("accelerator_hour", "accelerator"),
    "Offer.sighting": (
        *("page", "api", "table", "analyst", "quote", "user"),
        *("bill", "catalogue", "dataset"),
    ),
    "Component.kind": ("text_encoder", "image_encoder", "denoiser", "controlnet", "vae", "safety_checker"),
    "Part.kind": ("kernel", "library", "backend", "engine", "feature"),
    "Part.state": ("runs", "steps", "no"),
    "Pipeline.task": ("image", "video"),
    "Pipeline.precision": ("bf16", "fp16", "fp32"),
    "WeightFormat.family": ("bf16", "fp8", "int8", "int4", "fp4", "gguf", "bnb"),
}
DOORS = {
    "_bytes_per_s": "bytes_per_s",
    "_bytes": "bytes",
    "_w": "w",
    "_ratio": "ratio",
    "flop_per_s": "flop_per_s",
}


class SourceRow(BaseModel):
    """Where a figure was read, as a file states it."""

    model_config = ConfigDict(extra="forbid", title="Source")
    what: str = Field(min_length=3)
    url: str = ""
    seen: str = Field(pattern=ISO_DATE)
    grade: Literal["measured", "vendor", "quoted", "derived", "simulated", "assumed"] = "quoted"

    def made(self) -> Source:
        """As the kernel's noun."""
        return Source(self.what, self.url, self.seen, self.grade)

    @field_validator("seen")
    @classmethod
    def is_a_day(cls, seen: str) -> str:
        """A day of the calendar."""
        return date.fromisoformat(seen).isoformat()


def _within(name: str) -> Any:
    """A figure that a thing can have: not below zero, above it where nothing else makes sense."""

    def look(value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if value and not LEAST_FIGURE <= abs(value) <= MOST_FIGURE:
            raise ValueError(tr("facts.no_such_figure"))
        if (value < 0 and name not in BELOW_ZERO_TOO) or (value == 0 and name in ABOVE_ZERO):
            raise ValueError(tr("facts.not_below" if value < 0 else "facts.not_zero"))
        return value

    return AfterValidator(look)


def _door(name: str) -> Any:
    kind = next((kind for suffix, kind in DOORS.items() if name.endswith(suffix)), None)

    def read(value: Any) -> Any:
        return parse(value, kind) if kind and isinstance(value, str) else value

    return BeforeValidator(read)


def _is_date(value: str) -> str:
    """Empty, or a day, a month or a year of the calendar."""
    try:
        date.fromisoformat((value + "-01-01")[:10] if value else "2000-01-01")
    except ValueError:
        raise ValueError(tr("facts.no_day")) from None
    return value


def _row_type(noun: type, name: str, hint: Any) -> Any:
    if hint is Source:
        return SourceRow
    if hint == dict[str, Source]:
        return dict[str, SourceRow]
    if words := WORDS.get(f"{noun.__name__}.{name}"):
        return Literal[words]
    if f"{noun.__name__}.{name}" in DATES:
        return Annotated[str, AfterValidator(_is_date)]
    if hint is float or hint == float | None:
        return Annotated[hint, _door(name), _within(f"{noun.__name__}.{name}")]
    if hint == dict[str, float]:
        return dict[str, Annotated[float, _door(name), _within(f"{noun.__name__}.{name}")]]
    if hint in (int, int | None, Decimal, Decimal | None):
        return Annotated[hint, _within(f"{noun.__name__}.{name}")]
    if get_origin(hint) is tuple and get_args(hint)[0] in (ApiRate, AttentionLayers, MlpLayers):
        return tuple[row_class(get_args(hint)[0]), ...]  # type: ignore[misc]
    return hint


def _default(hint: Any, name: str, own: Any) -> Any:
    if own.default is not MISSING:
        return own.default
    if get_origin(hint) is dict:
        return Field(default_factory=dict)
    if get_origin(hint) is tuple:
        return ()
    if type(None) in get_args(hint) and (get_origin(hint) is Union or hint.__class__.__name__ == "UnionType"):
        return None
    if hint is str and name not in REQUIRED_TEXT:
        return ""
    return ...


@cache
def row_class(noun: type) -> type[BaseModel]:
    """The pydantic class a row of this noun is validated with: same fields, unknown ones refused."""
    hints = get_type_hints(noun)
    parts = {
        own.name: (_row_type(noun, own.name, hints[own.name]), _default(hints[own.name], own.name, own))
        for own in fields(noun)
    }
    config = ConfigDict(extra="forbid", title=noun.__name__, protected_namespaces=())
    made: type[BaseModel] = create_model(f"{noun.__name__}Row", __config__=config, **parts)  # type: ignore[call-overload]
    return made


def schema(noun: type) -> dict[str, Any]:
    """JSON Schema of one noun's rows."""
    return row_class(noun).model_json_schema()


def record(noun: type, row: BaseModel) -> Any:
    """A validated row as the noun the product works with."""
    return noun(**{own.name: _plain(getattr(row, own.name), own.type) for own in fields(noun)})


def _plain(value: Any, kind: Any) -> Any:
    if isinstance(value, SourceRow):
        return value.made()
    if isinstance(value, dict):
        return {key: _plain(part, "") for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(part, "") for part in value)
    if isinstance(value, BaseModel):
        held = type(value).model_fields
        noun = ApiRate if "unit" in held else AttentionLayers if "kind" in held else MlpLayers
        return record(noun, value)
    return value


def read_yaml(path: Path) -> tuple[Any, Lines]:
    """A YAML file as plain text values (numbers are read by the row classes), with the line of every key.

    Raises:
        InvalidInput: CB-F002, the file is not YAML.
    """
    try:
        text = read_text(path, HAND_KEPT_BYTES_MOST)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or tr("facts.not_utf8")
        raise InvalidInput(problem("CB-F002", file=str(path), reason=reason)) from error
    return yaml_values(text, str(path))


def yaml_values(text: str, file: str) -> tuple[Any, Lines]:
    """The same of the text of ``file``.

    Raises:
        InvalidInput: CB-F002, it is not YAML.
    """
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.reader.ReaderError as error:
        raise InvalidInput(problem("CB-F002", file=file, reason=tr("facts.not_utf8"))) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise InvalidInput(
            problem("CB-F002", file=file, line=line, reason=str(error.problem or ""))
        ) from error
    lines: Lines = {}
    try:
        return (_value(node, (), lines) if node is not None else None), lines
    except _Refused as refused:
        raise InvalidInput(problem("CB-F002", file=file, line=refused.line, reason=str(refused))) from None


class _Refused(Exception):
    """Stops the reading of a file: why, and at which line."""

    def __init__(self, reason: str, line: int) -> None:
        self.line = line
        super().__init__(reason)


def _value(node: Any, at: tuple[str | int, ...], lines: Lines) -> Any:
    lines.setdefault(at, node.start_mark.line + 1)
    if len(lines) > MOST_VALUES or len(at) > 20:
        raise _Refused(tr("facts.too_many_values", limit=MOST_VALUES), node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        made: dict[str, Any] = {}
        for key, part in node.value:
            if not isinstance(key.value, str):
                raise _Refused(tr("facts.no_key"), key.start_mark.line + 1)
            if key.value in made:
                first = lines[(*at, key.value)]
                raise _Refused(tr("facts.twice", key=key.value, first=first), key.start_mark.line + 1)
            lines[(*at, key.value)] = key.start_mark.line + 1
            made[key.value] = _value(part, (*at, key.value), lines)
        return made
    if isinstance(node, yaml.SequenceNode):
        return [_value(part, (*at, place), lines) for place, part in enumerate(node.value)]
    return node.value


def validated(
    noun: type, raw: Any, file: str, lines: Lines, at: tuple[str | int, ...]
) -> tuple[Any, list[Problem]]:
    """One row as a record, or every problem it has, each with its line. ``at`` is the row's place in the file."""
    try:
        return record(noun, row_class(noun).model_validate(raw)), []
    except ValidationError as error:
        names = [own.name for own in fields(noun)]
        return None, [_told(item, names, str(_id(raw)), file, lines, at) for item in error.errors()]


def _id(raw: Any) -> Any:
    return raw.get("id", "?") if isinstance(raw, dict) else "?"


def _told(
    item: Any, names: list[str], who: str, file: str, lines: Lines, at: tuple[str | int, ...]
) -> Problem:
    place = tuple(item["loc"])
    line = next(
        (lines[(*at, *place[:size])] for size in range(len(place), -1, -1) if (*at, *place[:size]) in lines),
        0,
    )
    name = ".".join(str(part) for part in place)
    if item["type"] == "missing":
        return problem("CB-F005", file=file, line=line, record=who, field=name)
    if item["type"] == "extra_forbidden":
        near = closest(str(place[-1]), names) or ", ".join(names[:6])
        return problem("CB-F003", file=file, line=line, record=who, field=name, near=near)
    why = item["msg"].removeprefix("Value error, ")
    return problem(
        "CB-F004", file=file, line=line, record=who, field=name, value=str(item["input"])[:60], reason=why
    )


def read_records(path: Path, noun: type) -> list[Any]:
    """All records of one hand-kept YAML file, a list of mappings.

    Raises:
        InvalidInput: CB-F002..F005, every problem of the file at once.
    """
    rows, lines = read_yaml(path)
    made, wrong = [], []
    for place, raw in enumerate(rows or []):
        one, problems = validated(noun, raw, str(path), lines, (place,))
        made.append(one)
        wrong += problems
    if wrong:
        raise InvalidInput(wrong)
    return made


def read_series(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a CSV file; empty cells are left out (not seen, not zero), cells beyond the header stand under ``?``."""
    for row in csv.DictReader(text_lines(path, HAND_KEPT_BYTES_MOST), restkey="?"):
        yield {name: cell for name, cell in row.items() if cell}
