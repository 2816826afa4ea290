"""The site in both languages, every warning an error: ``python docs/site/build.py FOLDER``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = {"en": HERE.parent, "es": HERE.parent / "es"}
DOOR = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Cabida</title>
<p><a href="en/index.html" lang="en">English</a> · <a href="es/index.html" lang="es">Español</a></p>
</html>
"""


def build(folder: Path, language: str) -> int:
    """Build one language into FOLDER/LANGUAGE; the exit code, 0 when nothing was to be said."""
    words = [
        *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html"),
        *("-c", str(HERE), "-D", f"language={language}", "-d", str(folder / f".{language}")),
        *(str(PAGES[language]), str(folder / language)),
    ]
    return subprocess.run(words, env=os.environ | {"CABIDA_SITE": language}, check=False).returncode


def main(folder: Path) -> int:
    """Build both languages and the page that leads to them."""
    failed = [language for language in PAGES if build(folder, language)]
    (folder / "index.html").write_text(DOOR, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
