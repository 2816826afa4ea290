"""The README shows what the demo says today."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_answer_in_the_readme_is_the_demos(decided):
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "calibration/readme.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    shown = script.BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))[2]
    assert script.answer(shown) == decided("chat-llama-70b")[0].answer, "README.md is stale: make docs"
    assert script.TURNS in shown
