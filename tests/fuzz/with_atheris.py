"""The same doors under libFuzzer, where atheris is installed (Linux, Python 3.11 to 3.13): ``pip install atheris``.

``python tests/fuzz/with_atheris.py DOOR FOLDER --seconds 600``: FOLDER keeps the inputs that reached new code; what
breaks a door is written beside it as ``found-...``, to be mended and moved to ``found/DOOR/``.
"""

import argparse
import hashlib
import sys
import tempfile
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cabida"]):
    import fuzz_doors as known

LONGEST_BYTES, LONGEST_S, MEMORY_MB = 20_000, 10, 1500


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("door", choices=known.doors())
    asked.add_argument("folder", type=Path)
    asked.add_argument("--seconds", type=int, default=60)
    given = asked.parse_args()
    door, kept, scratch = known.doors()[given.door], given.folder, Path(tempfile.mkdtemp())
    kept.mkdir(parents=True, exist_ok=True)
    for data in door.seeds:
        (kept / hashlib.sha256(data).hexdigest()).write_bytes(data)
    words = kept.with_suffix(".dict")
    escaped = ("".join("\\x" + format(byte, "02x") for byte in word) for word in door.words if word)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    told = set()

    def enter(data):
        try:
            known.allowed(door, bytes(data), scratch)
        except Exception as error:
            frames = [
                frame for frame in traceback.extract_tb(error.__traceback__) if "cabida" in frame.filename
            ]
            place = (type(error).__name__, frames[-1].lineno if frames else 0)
            if place not in told:
                told.add(place)
                kept.with_name(f"found-{given.door}-{len(told)}").write_bytes(bytes(data))
                traceback.print_exc()

    flags = [f"-max_total_time={given.seconds}", f"-max_len={LONGEST_BYTES}", f"-timeout={LONGEST_S}"]
    flags += [f"-rss_limit_mb={MEMORY_MB}", f"-dict={words}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], str(kept), *flags], enter)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
