"""JSON against its schema. The schema is the user's and bounded; the answer is anybody's and bounded too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from cabida.bench.accept.judgement import MET, Output, Said
from cabida.bench.accept.options import Options
from cabida.bench.accept.patterns import compiled, found
from cabida.text import tr

LARGEST_SCHEMA_BYTES = 2**20
LARGEST_ANSWER_CHARS = 4 * 2**20
DEEPEST = 200
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Form:
    """Kind ``json-schema``: the answer is JSON that satisfies a schema.

    The value is the schema, or the path of its file, or ``{schema: ..., fence: true}``: with ``fence`` the JSON may
    stand in a code fence. References lead inside the schema only; nothing is ever fetched.
    """

    form = True

    def __init__(self, value: Any) -> None:
        wrapped = isinstance(value, dict) and "schema" in value and set(value) <= {"schema", "fence"}
        said = Options(value if wrapped else {"schema": value}, "schema", ("schema", "fence"))
        self.fence = said.flag("fence")
        schema = said.get("schema")
        self.validator = said.made("schema", lambda: validator(schema))
        said.check()

    def judge(self, output: Output) -> Said:
        """Whether it is met; what is wrong first is told by its place, never by its content."""
        text = unfenced(output.text) if self.fence else output.text
        if len(text) > LARGEST_ANSWER_CHARS:
            return Said(False, tr("accept.json_too_big", limit=LARGEST_ANSWER_CHARS))
        try:
            parsed = orjson.loads(text)
        except ValueError as error:
            where = re.search(r"line \d+ column \d+", str(error))
            return Said(False, tr("accept.json_none", where=where[0] if where else "…"))
        if too_deep(parsed):
            return Said(False, tr("accept.json_too_deep", limit=DEEPEST))
        assert self.validator is not None
        try:
            wrong = next(self.validator.iter_errors(parsed), None)
        except PatternTimeout:
            return Said(None, tr("accept.pattern_timeout", seconds="0.25"))
        except RecursionError:
            return Said(None, tr("accept.schema_endless"))
        if wrong is None:
            return MET
        return Said(
            False,
            tr("accept.json_breaks", keyword=str(wrong.validator), place=place(wrong.absolute_schema_path)),
        )


class PatternTimeout(Exception):
    """A pattern of the schema took too long."""


def unfenced(text: str) -> str:
    """What stands in a code fence (plain or of JSON), where the whole text is one; else the text."""
    bare = text.strip()
    head, line_end, rest = bare.partition("\n")
    fenced = line_end and len(bare) > 6 and bare.endswith("```") and head.startswith("```")
    return rest[:-3] if fenced and head[3:].strip().lower() in ("", "json") else text


def too_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than is looked at."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            below
            for one in level
            if isinstance(one, dict | list)
            for below in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def place(path: Any) -> str:
    """The part of the schema that is broken: ``properties/answer/type``."""
    return "/".join(str(part)[:40] for part in list(path)[:20])


def validator(schema: Any) -> Any:
    """A validator of a schema, or of that in a file.

    Raises:
        ValueError: no schema, too big, or one that refers outside itself.
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    if isinstance(schema, str):
        schema = _of_file(Path(schema))
    if not isinstance(schema, dict | bool):
        raise ValueError(tr("accept.schema_none"))  # noqa: TRY004 - a fault of a value as any other
    if too_deep(schema) or len(orjson.dumps(schema)) > LARGEST_SCHEMA_BYTES:
        raise ValueError(tr("accept.schema_too_big", limit=LARGEST_SCHEMA_BYTES))
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise ValueError(tr("accept.schema_outside", reference=reference[:80]))
    found_class: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        found_class.check_schema(schema)
    except SchemaError as error:
        message = f"{place(error.absolute_path)}: {error.message[:160]}"
        raise ValueError(message) from None
    except RecursionError:
        raise ValueError(tr("accept.schema_endless")) from None
    extend: Any = validators.extend
    bounded = extend(found_class, {"pattern": _pattern, "patternProperties": _pattern_properties})
    return bounded(schema, registry=Registry())


def _of_file(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_SCHEMA_BYTES:
            raise ValueError(tr("accept.schema_too_big", limit=LARGEST_SCHEMA_BYTES))
        return orjson.loads(path.read_bytes())
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise ValueError(message) from None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in _REFERENCES and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for one in schema:
            yield from _references(one)


def _seen(pattern: str, text: str) -> bool:
    try:
        seen = found(compiled(pattern), text)
    except ValueError:
        seen = None
    if seen is None:
        raise PatternTimeout
    return seen


def _pattern(validator: Any, pattern: Any, instance: Any, _: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not _seen(str(pattern), instance):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, below in patterns.items():
        for key, value in instance.items():
            if _seen(pattern, key):
                yield from validator.descend(value, below, path=key, schema_path=pattern)
