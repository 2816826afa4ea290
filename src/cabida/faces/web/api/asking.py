"""Operations made of the use cases: what a request says becomes the command's flags, its answer the response."""

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, File, Form, Path, Query, Request, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from cabida.errors import InvalidInput
from cabida.faces.web.api import told
from cabida.faces.web.api.asked import LONGEST_FILE, LONGEST_TEXT, command_of, form_of, words_of
from cabida.faces.web.api.running import FLAG, Answer, answered, worked_out
from cabida.faces.web.api.usecases import BRIEF, DECISION, USE_CASES, Given, UseCase
from cabida.faces.web.telling import NotFound
from cabida.text import LOCALES, has_text, problem, speaking, tr

EXIT = "Cabida-Exit-Code"
EXITS = "0 done, 4 nothing satisfies what was asked, 6 something blocks, 7 the winner is another one"
ID = Annotated[str, Field(pattern=r"^[a-z]-?[0-9a-zA-Z-]{1,60}$")]
MOST_FILES = 20
FILES = (".yaml", ".yml", ".json", ".txt", ".gguf", ".safetensors", ".csv")
ONE_LINE = ("what", "software", "pc", "model")  # words that a command would take for a file by their ending


def add_use_cases(router: APIRouter) -> None:
    """Put every use case on the router; ``/x/{id}`` after ``/x/word``."""
    for case in sorted(USE_CASES, key=lambda one: "{id}" in one.path):
        _add(router, case)


def _add(router: APIRouter, case: UseCase) -> None:
    form = _form(case)
    codes = [422]
    codes += [404] if case.names or any(one.kind in (BRIEF, DECISION) for one in case.given) else []
    codes += [415] if case.method == "POST" else []
    router.add_api_route(
        case.path,
        _endpoint(case, form),
        methods=[case.method],
        operation_id=case.operation_id,
        tags=[case.tag],
        summary=_told(case, ".short"),
        description=_told(case, "") + f"\n\nThe same JSON as `cabida {case.words} --json`.",
        responses={**told.responses(*codes), 200: _answer_of(case)},
        response_class=JSONResponse,
    )


def _told(case: UseCase, ending: str) -> str:
    key = f"faces.command.{case.words.replace(' ', '.')}{ending}"
    own = f"web.api.{case.operation_id}{ending}"
    with speaking("en"):
        told = tr(own if has_text(own) else key)
    return FLAG.sub(lambda flag: f"`{flag[1].replace('-', '_')}`", told)


def _answer_of(case: UseCase) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": case.answer}
    if case.answer == "array":
        schema["items"] = {"type": "object"}
    return {
        "description": "The answer.",
        "headers": {EXIT: {"description": EXITS, "schema": {"type": "integer"}}},
        "content": {"application/json": {"schema": schema}},
    }


def given_fields(given: tuple[Given, ...], *, as_text: bool = False) -> dict[str, Any]:
    """Fields for what a command takes as a file: its content, or the id of what is on the shelf."""
    found: dict[str, Any] = {}
    for one in given:
        text = Annotated[str, Field(min_length=1, max_length=LONGEST_FILE)]
        if one.kind == BRIEF:
            found[one.field] = (text, _field("The brief: its YAML."))
            found[f"{one.field}_id"] = (ID, _field("In its place: the id of a brief on the shelf."))
            version = Annotated[int, Field(ge=1, le=10**6)]
            found[f"{one.field}_version"] = (version, _field("Of that brief; the newest when left out."))
        elif one.kind == DECISION:
            kind: Any = text if as_text else dict[str, Any]
            found[one.field] = (kind, _field("The decision: its JSON."))
            found[f"{one.field}_id"] = (ID, _field("In its place: the id of a decision on the shelf."))
        else:
            found[one.field] = (text, _field(f"Content of a file such as `{one.kind}`."))
    return found


def _field(said: str) -> Any:
    return Field(None, description=said, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _form(case: UseCase) -> type[BaseModel]:
    name = "".join(part.title() for part in case.operation_id.split("_")) + "Asked"
    as_text = case.method != "POST" or bool(case.upload)
    more = given_fields(case.given, as_text=as_text)
    out = [*case.left_out, *(param for param in _file_params(case))]
    if case.method != "POST":
        more["lang"] = (Literal[LOCALES], _field("Language of what is told."))
    if case.upload:
        files = Annotated[list[UploadFile], File(), Field(max_length=MOST_FILES)]
        more["files"] = (files, _field(f"The files, {MOST_FILES} at most."))
        if case.needs_file:
            more["files"] = (files, Field(description=f"The files, 1 to {MOST_FILES}.", min_length=1))
    return form_of(case.words, name, left_out=tuple(out), as_text=as_text, more=more, most=dict(case.most))


def _file_params(case: UseCase) -> list[str]:
    """The command's own names of what comes as content."""
    import click

    flags = {one.flag for one in case.given if one.kind not in ("parts.yaml",)} | {case.upload}
    found = []
    for param in command_of(case.words).params:
        is_argument = isinstance(param, click.Argument)
        as_file = is_argument and isinstance(param.type, click.Path)
        if as_file or flags & set(param.opts if not is_argument else [param.name or ""]):
            found.append(param.name or "")
    return found


def _endpoint(case: UseCase, form: type[BaseModel]) -> Callable[..., Awaitable[Response]]:
    out = (*case.left_out, *_file_params(case))

    async def endpoint(request: Request, asked: BaseModel, id: str = "") -> Response:
        if case.words == "here":
            _own_machine(request)
        _no_files_named(asked)
        flags, arguments = words_of(asked, case.words, out)
        files = await _uploaded(case, asked)
        arguments = [id, *arguments] if "{id}" in case.path else arguments
        _only_kept(case, arguments)

        def work() -> Answer:
            contents = {**given_contents(case.given, asked), **files}
            return answered(case.words, [*case.always, *flags], arguments, files=contents)

        try:
            answer = await worked_out(request, work, writes=_writes(case, asked))
        except InvalidInput as error:
            if case.names and not isinstance(error, NotFound):
                raise NotFound(error.problems) from None
            raise
        return as_json(answer)

    made: Callable[..., Awaitable[Response]] = shaped(endpoint, case, form)
    return made


def _writes(case: UseCase, asked: BaseModel) -> bool:
    """Whether this request changes the store."""
    return bool((case.writes and not getattr(asked, "dry_run", None)) or getattr(asked, "keep", None))


def shaped(endpoint: Any, case: UseCase, form: type[BaseModel]) -> Any:
    """The endpoint with the signature that FastAPI reads its request's shape from."""
    where: Any = Query() if case.method != "POST" else Body()
    if case.upload:
        where = Form(media_type="multipart/form-data")
    kind = inspect.Parameter.KEYWORD_ONLY
    params = [
        inspect.Parameter("request", kind, annotation=Request),
        inspect.Parameter("asked", kind, annotation=Annotated[form, where]),
    ]
    if "{id}" in case.path:
        said = Path(description="Which.", max_length=LONGEST_TEXT)
        params.append(inspect.Parameter("id", kind, annotation=Annotated[str, said]))
    endpoint.__signature__ = inspect.Signature(params)
    endpoint.__annotations__ = {one.name: one.annotation for one in params}
    endpoint.__name__ = case.operation_id
    return endpoint


def as_json(answer: Answer, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as the command line writes it, with its exit code in a header."""
    return JSONResponse(answer.data, status, headers={EXIT: str(answer.exit_code), **(headers or {})})


def given_contents(given: tuple[Given, ...], asked: BaseModel) -> dict[str, tuple[str, bytes]]:
    """The files that the command takes, from the request or from the shelf: flag -> name, content.

    Raises:
        InvalidInput: CB-S041, none came that is needed; CB-S046, two came. NotThere: the shelf has no such.
    """
    found: dict[str, tuple[str, bytes]] = {}
    for at, one in enumerate(given):
        content = content_of(one, asked)
        if content is not None:
            name = {BRIEF: f"{one.field}.yaml", DECISION: f"{one.field}.json"}.get(one.kind, one.kind)
            found[one.flag or f"{at}"] = (name, content)
        elif one.needed:
            raise InvalidInput([problem("CB-S041", where=one.field, why=tr("web.api.wrong.missing"))])
    arguments = [one for one in given if not one.flag and not one.needed and content_of(one, asked)]
    if len(arguments) > 1:
        raise InvalidInput([problem("CB-S046", one=arguments[0].field, other=arguments[1].field)])
    return found


def content_of(one: Given, asked: BaseModel) -> bytes | None:
    """One of them; ``None`` when it wasn't given."""
    said, id = getattr(asked, one.field, None), getattr(asked, f"{one.field}_id", None)
    if said is not None and id is not None:
        raise InvalidInput([problem("CB-S046", one=one.field, other=f"{one.field}_id")])
    if id is not None:
        from cabida.evidence import shelf
    if id is not None and one.kind == BRIEF:
        text = shelf.brief(id, getattr(asked, f"{one.field}_version", None)).text
    elif id is not None:
        text = shelf.decision_text(id)
    elif said is None:
        return None
    else:
        text = json.dumps(said) if isinstance(said, dict) else said
    return str(text).encode("utf-8", "surrogatepass")


async def _uploaded(case: UseCase, asked: BaseModel) -> dict[str, tuple[str, bytes]]:
    found = {}
    for at, one in enumerate(getattr(asked, "files", None) or ()):
        lead = f"{case.upload}#{at}" if case.upload.startswith("--") else f"{at}"
        found[lead] = (one.filename or "file", await one.read())
    return found


def _no_files_named(asked: BaseModel) -> None:
    """Refuse words that a command would take for a file of this machine.

    Raises:
        InvalidInput: CB-S050.
    """
    for name in ONE_LINE:
        value = getattr(asked, name, None)
        if isinstance(value, str) and value.strip().lower().endswith(FILES):
            raise InvalidInput([problem("CB-S050", field=name, name=value[:80])])


def _only_kept(case: UseCase, arguments: list[str]) -> None:
    """Quotes are named by what the shelf calls them; anything else would be a file.

    Raises:
        InvalidInput: CB-S050. NotFound: CB-S042, where it is the address that names it.
    """
    if (
        case.tag != "quotes"
        or case.upload
        or case.words not in ("quote show", "quote audit", "quote compare")
    ):
        return
    from cabida.evidence.quotes.keeping import is_name

    for one in arguments:
        if not is_name(one):
            if case.names:
                raise NotFound([problem("CB-S042", kind=tr("web.kind.quote"), name=one[:60])])
            raise InvalidInput([problem("CB-S050", field="quote", name=one[:80])])


def _own_machine(request: Request) -> None:
    """What this machine has is told to this machine alone.

    Raises:
        NotFound: CB-S042.
    """
    if not request.app.state.settings.open_to_loopback_only:
        raise NotFound([problem("CB-S042", kind=tr("web.kind.operation"), name="here")])
