"""The text of a PDF by pages, taken out in a process of its own: no file can hold it up or fill the memory."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from cabida.errors import InvalidInput
from cabida.text import problem, tr

MOST_PAGES = 60
MOST_CHARS = 600_000
MOST_S = 30
MOST_MEMORY_BYTES = 2 << 30
PAGE = "\f"
TAKE = """
import io, logging, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
    resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
except (ImportError, ValueError, OSError):
    pass
logging.disable(logging.CRITICAL)
import pypdf
try:
    reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit(3)
    held = []
    for at, page in enumerate(reader.pages):
        if at >= {pages}:
            break
        held.append(page.extract_text(extraction_mode="layout") or "")
        if sum(map(len, held)) > {chars}:
            break
    sys.stdout.buffer.write("\\f".join(held)[:{chars}].encode("utf-8", "replace"))
except Exception as error:
    sys.stdout.buffer.write(type(error).__name__.encode())
    sys.exit(4)
"""


def text_of(raw: bytes, name: str) -> str:
    """The text of a PDF's pages, a form feed between them.

    Raises:
        InvalidInput: CB-Q016, pypdf isn't installed; CB-Q002, it is locked, broken, too slow, or holds pictures only.
    """
    if find_spec("pypdf") is None:
        raise InvalidInput([problem("CB-Q016", file=name)])
    code = TAKE.format(memory=MOST_MEMORY_BYTES, seconds=MOST_S, pages=MOST_PAGES, chars=MOST_CHARS)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], input=raw, capture_output=True, timeout=MOST_S + 5
        )
    except subprocess.TimeoutExpired:
        raise _refused(name, "pdf_slow") from None
    if done.returncode == 3:
        raise _refused(name, "pdf_locked")
    if done.returncode:
        raise _refused(name, "pdf_slow" if done.returncode < 0 else "pdf_broken")
    text = done.stdout.decode("utf-8", "replace")
    if len("".join(text.split())) < 20:
        raise _refused(name, "pdf_pictures")
    return text


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput([problem("CB-Q002", file=name, line=0, why_not=tr(f"procure.why.{why}"))])
