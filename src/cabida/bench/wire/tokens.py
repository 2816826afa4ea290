"""Tokens counted here, with the model's own tokenizer, where the server tells none; in a thread while a load runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cabida.bench.outcome import Outcome
from cabida.errors import InvalidInput
from cabida.files import read_bytes
from cabida.text import printable, problem

TOKENIZER_BYTES_MOST = 100_000_000


def token_counter(tokenizer: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text, without special ones.

    Args:
        tokenizer: a ``tokenizer.json`` in the format of Hugging Face, or the folder that holds one.

    Raises:
        InvalidInput: CB-W014, the package isn't installed; CB-W015, the file can't be read or is none.
    """
    try:
        from tokenizers import Tokenizer  # optional, and the load process does without it
    except ImportError:
        raise InvalidInput(problem("CB-W014")) from None
    path = Path(tokenizer)
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        made = Tokenizer.from_buffer(read_bytes(path, TOKENIZER_BYTES_MOST))
    except Exception as error:  # the package raises bare Exception
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(problem("CB-W015", file=str(path), why=printable(why[:200]))) from None

    def count(text: str) -> int:
        # of a batch, for that lets other threads run meanwhile
        return len(made.encode_batch([text], add_special_tokens=False)[0].ids)

    return count


def counted(outcome: Outcome, count: Callable[[str], int], keep_text: bool = False) -> Outcome:
    """``outcome`` with its tokens counted where its server told none and its text was kept; the text is dropped.

    What stops an answer (the end token) is no text, so up to one token less is counted than was written.
    """
    if outcome.output_tokens is None and (outcome.text or outcome.reasoning):
        thought = count(outcome.reasoning) if outcome.reasoning else 0
        outcome.output_tokens = count(outcome.text) + thought
        outcome.reasoning_tokens = thought or outcome.reasoning_tokens
        outcome.counted_by = "tokenizer"
    if not keep_text:
        outcome.text = outcome.reasoning = ""
    return outcome
