"""What editors and type checkers read of ``cabida``, whose names are loaded when first used: ``cabida/__init__.pyi``.

python -m cabida.faces.stub src/cabida/__init__.pyi
"""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = '''"""Cabida: from a workload brief to a ranked, explained, dated decision about GPUs.

Written by ``python -m cabida.faces.stub``; the names live where they are imported from.
"""

'''


def stub() -> str:
    """The text of the stub: every public name, from where it lives."""
    import cabida

    rooms: dict[str, list[str]] = {}
    public: dict[str, str] = vars(cabida)["_PUBLIC"]
    for name, room in public.items():
        rooms.setdefault(room, []).append(name)
    imports = [
        f"from {room} import {name} as {name}"
        for room, names in sorted(rooms.items())
        for name in sorted(names)
    ]
    listed = "".join(f'    "{name}",\n' for name in cabida.__all__)
    return HEAD + "\n".join(imports) + f"\n\n__version__: str\n__all__ = [\n{listed}]\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(stub(), encoding="utf-8")
