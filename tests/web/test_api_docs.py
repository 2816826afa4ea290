"""What docs/api.md shows can be typed as it stands, against a real server."""

import json
import os
import re
import subprocess
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")
BLOCKS = [one for one in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if "curl" in one]


def test_every_command_of_the_page_works(served, tmp_path):
    said = (
        "\n".join(BLOCKS)
        .replace("http://127.0.0.1:8765", served.url)
        .replace("curl -s ", "curl -sS --fail-with-body ")
    )
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", said],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert json.loads((tmp_path / "decision.json").read_text())["verdict"] == "satisfied"
    assert (tmp_path / "record.md").read_text().startswith("# ")
    assert len(BLOCKS) == 3


def test_the_limits_it_names_are_those_there_are():
    from cabida.faces.web.api.asking import MOST_FILES
    from cabida.faces.web.api.listing import MOST
    from cabida.faces.web.api.reading import DEEPEST
    from cabida.faces.web.api.running import LONGEST_S
    from cabida.faces.web.settings import Settings

    usual = Settings()
    rows = dict(re.findall(r"^\| ([a-zA-Z ]+) \| (\d.*?) \|$", PAGE, re.MULTILINE))
    assert rows["body"] == f"{usual.most_upload_bytes / 2**20:g} MiB"
    assert rows["files of a form"] == str(MOST_FILES)
    assert rows["answer that is waited for"].startswith(f"{LONGEST_S:g} s")
    assert rows["requests of a person or address"].startswith(f"{usual.requests_per_minute} a minute")
    assert rows["jobs waiting"] == f"{usual.most_waiting}, of one person {usual.most_waiting_each}"
    assert rows["items of a page"] == str(MOST)
    assert rows["JSON"] == f"{DEEPEST} levels deep"
