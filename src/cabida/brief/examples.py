"""The examples that come with the program, as texts to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.text import closest, problem, tr


def _folders() -> list[Path]:
    """Beside the package when installed; at the top of the repository in a checkout."""
    package = Path(str(resources.files("cabida")))
    return [folder for folder in (package / "examples", package.parents[1] / "examples") if folder.is_dir()]


def example_names() -> list[str]:
    """Names of the examples, without their ending."""
    return sorted({file.stem for folder in _folders() for file in folder.glob("*.yaml")})


def example_text(name: str) -> str:
    """The YAML of one example.

    Raises:
        InvalidInput: there is none of that name (``CB-B037``); the nearest is named.
    """
    plain = name.removesuffix(".yaml")
    for folder in _folders():
        if plain in example_names() and (folder / f"{plain}.yaml").is_file():
            return (folder / f"{plain}.yaml").read_text(encoding="utf-8")
    near = closest(plain, example_names())
    cure = tr("brief.closest", near=near) if near else tr("brief.choices", choices=", ".join(example_names()))
    raise InvalidInput(problem("CB-B037", name=name, cure=cure))
