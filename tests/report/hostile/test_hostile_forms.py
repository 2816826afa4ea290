"""Each hostile file through the commands that could be given it: an answer or a located refusal, nothing in between."""

import json
import re
import zipfile

import make_hostile
import pytest

from cabida.faces.cli import cli

EXITS = (0, 3, 4, 6, 7)  # an answer, invalid input, nothing satisfies, gaps that block, another winner
ACTED_UPON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
DECISIONS = [name for name in make_hostile.made() if name.endswith(".json")]
QUOTES = [name for name in make_hostile.made() if not name.endswith(".json")]
DROPPED = ("quote-last-row.xlsx", "quote-billion-rows.xlsx")  # what no reader keeps is refused, not left out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    make_hostile.make(folder)
    return folder


@pytest.fixture
def run(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main([str(word) for word in words], prog_name="cabida")
        out, err = capfd.readouterr()
        said = (out + err).replace("\r\n", "\n")
        assert ended.value.code in EXITS, said[-400:]
        assert not ACTED_UPON.search(said)
        return ended.value.code, said

    return call


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_in_every_form(run, folder, tmp_path, name):
    for form in ("md", "html", "json", "xlsx"):
        out = tmp_path / f"record.{form}"
        code, said = run("record", folder / name, "--format", form, "--out", out)
        assert out.exists() == (code == 0)
        if code:
            assert name in said
            assert "[CB-R" in said
    if code:
        return
    page = (tmp_path / "record.html").read_text(encoding="utf-8").lower()
    assert not re.search(r"<iframe|<img|<svg/onload|<script>alert|\son[a-z]+\s*=\s*[\"']", page)
    assert not re.search(r"""(?:href|src)\s*=\s*["']?\s*(?:javascript|data:text|file|//)""", page)
    kept = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert kept["name"] == json.loads((folder / name).read_text(encoding="utf-8"))["name"]
    with zipfile.ZipFile(tmp_path / "record.xlsx") as book:
        parts = {part: book.read(part).decode("utf-8", "replace") for part in book.namelist()}
    assert not [part for part in parts if "external" in part.lower() or "vba" in part.lower()]
    formulas = " ".join(re.findall(r"<f[^>]*>([^<]*)</f>", " ".join(parts.values())))
    assert not re.search(r"WEBSERVICE|IMPORTXML|DDE|cmd\||evil", formulas)
    targets = re.findall(r'Target="([^"]*)" TargetMode="External"', " ".join(parts.values()))
    assert all(target.startswith("https://") for target in targets)


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_to_the_other_commands(run, folder, tmp_path, name):
    run("explain", folder / name)
    run("diff", folder / name, make_hostile.GOLDEN)
    run("launch", folder / name, "--out", tmp_path / "start")


@pytest.mark.parametrize("name", QUOTES)
def test_a_quote_kept_or_refused(run, folder, name):
    code, said = run("quote", "add", folder / name)
    if code:
        assert name in said
        assert re.search(r"\[CB-[QB]\d{3}\]", said)
    run("quote", "audit", folder / name)


@pytest.mark.parametrize("name", QUOTES)
def test_a_quote_is_no_pc_rack_or_stack(run, folder, name):
    for way in ("--pc", "--rack", "--software"):
        run("check", way, folder / name)


@pytest.mark.parametrize("name", DROPPED)
def test_no_cell_is_dropped_without_a_word(run, folder, name):
    code, said = run("quote", "add", folder / name)
    assert code == 3
    assert "XFD" in said
    assert "60 columns" in said


def test_a_figure_of_400_digits_is_told_by_its_beginning(run, folder):
    code, said = run("explain", folder / "decision-numbers.json")
    assert code == 3
    assert "9…" in said
    assert "9" * 60 not in said


@pytest.mark.parametrize(("text", "sound"), [(r"\ud83d\ude00", True), (r"\ud83d", False), (r"\\ud83d", True)])
def test_half_a_character_is_refused_with_its_line(run, tmp_path, text, sound):
    file = tmp_path / "decision.json"
    golden = make_hostile.GOLDEN.read_text(encoding="utf-8")
    file.write_text(re.sub(r'("name": ")', lambda found: found[1] + text, golden, count=1), encoding="utf-8")
    code, said = run("record", file, "--out", tmp_path / "record.md")
    assert (code == 0) == sound
    assert sound or (re.search(r"decision\.json:\d+: ", said) and "\\ud83d is half a character" in said)
