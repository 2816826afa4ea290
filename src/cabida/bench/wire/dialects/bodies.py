"""The body of a request, for each API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson

from cabida.plan.bench import Target

Messages = Sequence[Mapping[str, Any]]
_NEWER_LIMIT = ("api.openai.com", ".openai.azure.com")  # hosts whose models refuse max_tokens


class PromptLike(Protocol):
    """What :mod:`cabida.bench.load` makes: a text, or messages in its place."""

    @property
    def text(self) -> str:
        """The prompt as one text."""

    @property
    def messages(self) -> Any:
        """The messages of a chat; empty where there is only a text."""


def request_body(
    target: Target,
    prompt: str | Sequence[str] | Messages | PromptLike,
    output_tokens: int | None = None,
    exact_output: bool = False,
) -> bytes:
    """JSON of one request in ``target.api``.

    Args:
        target: its ``body`` is merged in last; a value of ``None`` there takes a field out.
        prompt: a text; messages of a chat; a list of texts (embeddings: one vector each; rerank: the query, then the
            documents). For rerank a single text is parted at its blank lines, the first part being the query.
        output_tokens: limit of the answer; ``None`` = the server's own.
        exact_output: ask the engine to write to that limit: ``ignore_eos`` and ``min_tokens``, which vLLM, SGLang,
            TensorRT-LLM and llama.cpp know and others refuse or ignore.
    """
    content = _content(prompt)
    if target.api in ("chat", "completions"):
        body = _generation(target, content, output_tokens, exact_output)
    elif target.api == "embeddings":
        body = {"input": content if _texts(content) else _joined(content)}
    elif target.api == "rerank":
        body = _rerank(content)
    else:
        body = {"prompt": _joined(content), "n": 1}
    if target.model:
        body["model"] = target.model
    body.update(target.body)
    return orjson.dumps({name: value for name, value in body.items() if value is not None})


def _content(prompt: Any) -> str | list[Any]:
    if isinstance(prompt, str):
        return prompt
    if hasattr(prompt, "messages"):  # to ask whether it is a PromptLike would take longer than all the rest
        return list(prompt.messages) if prompt.messages else str(prompt.text)
    return list(prompt)


def _texts(content: str | list[Any]) -> bool:
    return isinstance(content, list) and all(isinstance(one, str) for one in content)


def _joined(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    parts = (one if isinstance(one, str) else one.get("content", "") for one in content)
    return "\n".join(part for part in parts if isinstance(part, str))


def _generation(target: Target, content: str | list[Any], tokens: int | None, exact: bool) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if target.api == "completions":
        body["prompt"] = content if isinstance(content, str) else _joined(content)
    elif isinstance(content, str) or _texts(content):
        body["messages"] = [{"role": "user", "content": _joined(content)}]
    else:
        body["messages"] = content
    if tokens is not None:
        body[_limit_name(target)] = tokens
        if exact:
            body |= {"ignore_eos": True, "min_tokens": tokens}
    body["stream"] = target.stream
    if target.stream:
        body["stream_options"] = {"include_usage": True}
    return body


def _limit_name(target: Target) -> str:
    if target.api != "chat":
        return "max_tokens"
    host = target.url.split("://", 1)[-1].split("/", 1)[0].split(":", 1)[0].lower()
    newer = any(host == one or host.endswith(one) for one in _NEWER_LIMIT)
    return "max_completion_tokens" if newer else "max_tokens"


def _rerank(content: str | list[Any]) -> dict[str, Any]:
    if isinstance(content, str):
        parts = [part for part in content.split("\n\n") if part.strip()] or [content]
        query, documents = parts[0], parts[1:]
    else:
        texts = [one if isinstance(one, str) else str(one.get("content", "")) for one in content] or [""]
        query, documents = texts[0], texts[1:]
    if not documents:
        documents, query = [query], " ".join(query.split()[:12])
    return {"query": query, "documents": documents}
