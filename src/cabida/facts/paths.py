"""A model by a path: a config.json, a checkpoint directory, a .safetensors or a .gguf file. Nothing is unpickled."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts.architectures import from_config
from cabida.facts.fields import read_json
from cabida.facts.model import Model
from cabida.files import opened
from cabida.quantity import Source
from cabida.text import problem, tr

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_ENDINGS = (".json", ".gguf", ".safetensors", *PICKLES)
_INDEX = ".safetensors.index.json"


def from_path(ref: str) -> Model | None:
    """The model a path describes; ``None`` when ``ref`` is no path.

    Raises:
        InvalidInput: CB-F012 (safetensors), CB-F013 (GGUF), CB-F015 (no such file, or not one of a model), CB-F011
            and CB-F016 (its config), CB-F042 (a pickle).
    """
    if not ref.strip():  # as a path it would be this folder
        return None
    looks = ref.lower().endswith(_ENDINGS) or bool(re.match(r"[./~]|[A-Za-z]:\\", ref))
    try:
        path = Path(ref).expanduser()
        path.stat()
    except (OSError, RuntimeError, ValueError) as error:  # also no such user, a name too long, a null byte
        if looks:
            told = isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and error.strerror
            raise _no_model(ref, told or tr("facts.no_file")) from None
        return None
    if path.is_dir():
        known = looks or (path / "config.json").exists() or any(path.glob("*.gguf"))
        return _from_directory(path) if known else None
    return _from_file(path) if looks else None


def _from_file(path: Path) -> Model:
    ending = path.suffix.lower()
    if ending == ".safetensors":
        return _with_config(path, path.parent)
    if path.name.endswith(_INDEX):
        return _with_config(path, path.parent)
    if ending == ".gguf" or _begins(path, 4) == b"GGUF":
        from cabida.facts.gguf import read as read_gguf

        return read_gguf(path).model
    if ending in PICKLES:
        raise InvalidInput(problem("CB-F042", file=str(path)))
    return _from_json(path)


def _begins(path: Path, count: int) -> bytes:
    try:
        with opened(path) as file:
            return file.read(count)
    except OSError as error:
        raise _no_model(str(path), error.strerror or str(error)) from error


def config_at(path: Path) -> dict[str, Any]:
    """A config.json, with how it is quantised where a file beside it says so.

    Raises:
        InvalidInput: CB-F015, it can't be read.
    """
    config = read_json(path)
    beside = path.parent / "hf_quant_config.json"
    if "quantization_config" not in config and beside.is_file():
        return {**config, "quantization_config": read_json(beside)}
    return config


def _from_json(path: Path) -> Model:
    config = config_at(path)
    seen = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    name = path.parent.name or str(path)
    return from_config(config, Source(str(path), seen=seen, grade="vendor"), name, str(path))


def _from_directory(path: Path) -> Model:
    """A checkpoint directory: its config.json, and the exact bytes of its safetensors headers if it has any."""
    if (path / "config.json").exists():
        return (
            _with_config(path, path) if any(path.glob("*.safetensors")) else _from_json(path / "config.json")
        )
    ggufs = [entry.name for entry in path.glob("*.gguf")]
    if ggufs:
        from cabida.facts.gguf import chosen, read

        return read(path / (chosen(ggufs) or ggufs[0])).model
    if (path / "adapter_config.json").exists():
        base = str(read_json(path / "adapter_config.json").get("base_model_name_or_path") or "?")[:200]
        raise _no_model(str(path), tr("facts.an_adapter", base=base))
    if any(
        any(path.glob(pattern)) for pattern in ("pytorch_model*", *(f"*{ending}" for ending in PICKLES[1:]))
    ):
        raise InvalidInput(problem("CB-F042", file=str(path)))
    raise _no_model(str(path), tr("facts.no_config"))


def _with_config(held: Path, folder: Path) -> Model:
    """The model of the config.json in ``folder``, with the sizes that the safetensors files ``held`` tell."""
    from cabida.facts.checkpoint import read
    from cabida.facts.parts import refuse_too_small, with_headers

    checkpoint = read(held)
    if not (folder / "config.json").exists():
        reason = tr("facts.no_config_beside", gib=f"{checkpoint.total_bytes / 2**30:,.2f}")
        raise _no_model(str(held), reason)
    made = _from_json(folder / "config.json")
    refuse_too_small(made, checkpoint.total_bytes, "CB-F012", str(held))
    return with_headers(made, checkpoint.tensors, "safetensors")


def _no_model(file: str, reason: str) -> InvalidInput:
    return InvalidInput(problem("CB-F015", file=file, reason=reason))
