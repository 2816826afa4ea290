"""Briefs over the web: begun, saved, changed by two, decided, and told what is wrong in both languages."""

import re
from pathlib import Path

import pytest

from cabida.evidence import shelf

ROOT = Path(__file__).parents[2]
WHOLE = (ROOT / "examples" / "chat-llama-70b.yaml").read_text(encoding="utf-8")
SHORT = "name: little\nworkload: realtime-inference\nmodels: [Qwen/Qwen3-14B]\n"


def yaml_of(text):
    from html import unescape

    return unescape(re.search(r'<textarea id="yaml"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)[1])


def keep(client, text=SHORT):
    answer = client.post(
        "/briefs/new", data={"yaml": text, "base": text, "do": "save"}, follow_redirects=False
    )
    assert answer.status_code == 303, answer.text[:2000]
    return answer.headers["location"].partition("?")[0].rpartition("/")[2]


def test_the_list_begins_empty_and_shows_what_is_kept(client):
    assert "No briefs yet" in client.get("/briefs").text
    id = keep(client)
    page = client.get("/briefs").text
    assert f'href="/briefs/{id}"' in page
    assert "little" in page
    assert "Realtime inference" in page
    assert id in client.get("/briefs?q=LITTLE").text
    assert id not in client.get("/briefs?q=large").text
    assert client.get("/briefs?after=nonsense").status_code == 422


def test_ways_to_begin(client):
    page = client.get("/briefs/new").text
    assert page.count('href="/briefs/new?workload=') == 8
    assert 'href="/briefs/new?example=support-chat"' in page
    spanish = client.get("/briefs/new", headers={"Accept-Language": "es"}).text
    assert "Atención al cliente de una tienda mexicana" in spanish
    assert "Inferencia en tiempo real" in spanish
    wrong = client.get("/briefs/new?example=../../etc/passwd")
    assert wrong.status_code == 422
    assert "root:" not in wrong.text


def test_saved_changed_downloaded_dropped(client):
    id = keep(client)
    page = client.get(f"/briefs/{id}?saved=1").text
    assert "Saved as version 1." in page
    assert yaml_of(page) == SHORT
    data = {"yaml": SHORT, "base": SHORT, "version": "1", "brief": id, "f:name": "big", "do": "save"}
    assert client.post(f"/briefs/{id}", data=data, follow_redirects=False).status_code == 303
    assert shelf.brief(id).name == "big"
    assert shelf.brief(id).version == 2
    old = client.get(f"/briefs/{id}?version=1").text
    assert "This is version 1" in old
    assert 'name="version" id="version" value="2"' in old
    file = client.get(f"/briefs/{id}/brief.yaml")
    assert file.text.startswith("name: big\n")
    assert "attachment" in file.headers["content-disposition"]
    assert (
        client.post(f"/briefs/{id}", data={"version": "2", "do": "drop"}, follow_redirects=False).headers[
            "location"
        ]
        == "/briefs"
    )
    assert shelf.brief(id).gone
    assert id not in client.get("/briefs").text
    assert client.get("/briefs/b-nothing").status_code == 404


def test_two_people_see_both_texts_and_choose(client):
    id = keep(client)
    shelf.change_brief(id, version=1, text=SHORT + "horizon: 12 months\n", by="Ana")
    mine = {"yaml": SHORT, "base": SHORT, "version": "1", "brief": id, "f:name": "mine", "do": "save"}
    both = client.post(f"/briefs/{id}", data=mine, follow_redirects=False)
    assert both.status_code == 409
    assert "Ana" in both.text
    assert "<del>-horizon: 12 months</del>" in both.text
    assert "<ins>+name: mine</ins>" in both.text
    assert shelf.brief(id).version == 2
    chosen = {"yaml": SHORT.replace("little", "mine"), "version": "2", "brief": id, "do": "save"}
    assert client.post(f"/briefs/{id}", data=chosen, follow_redirects=False).status_code == 303
    assert shelf.brief(id).name == "mine"
    assert shelf.brief(id).version == 3


def test_saving_as_it_grows_tells_its_version_and_who_was_faster(client):
    id = keep(client)
    data = {
        "yaml": SHORT,
        "base": SHORT,
        "version": "1",
        "brief": id,
        "f:horizon": "9",
        "u:horizon": "months",
        "do": "autosave",
    }
    told = client.post(f"/briefs/{id}", data=data)
    assert told.status_code == 200
    assert told.json()["version"] == 2
    assert told.json()["saved"]
    assert (
        client.post(
            f"/briefs/{id}", data=data | {"f:horizon": "7"}, headers={"Accept": "application/json"}
        ).status_code
        == 409
    )
    unread = client.post(
        f"/briefs/{id}", data={"yaml": "a: [", "base": SHORT, "version": "2", "brief": id, "do": "autosave"}
    )
    assert unread.json() == {"version": 2, "saved": ""}
    assert shelf.brief(id).version == 2


def test_what_lacks_too_much_says_what_to_find_out(client):
    answer = client.post("/briefs/new", data={"yaml": SHORT, "base": SHORT, "do": "decide"})
    assert answer.status_code == 422
    assert "It can&#39;t be decided yet" in answer.text
    assert "Requests per second" in answer.text
    assert "It can be assumed: <code>{mean: 1, peak: 3}</code>" in answer.text
    assert not shelf.briefs().items
    assert 'name="assume"' in answer.text
    without = client.post(
        "/briefs/new", data={"yaml": "name: a\n", "base": "name: a\n", "do": "decide", "assume": "1"}
    )
    assert without.status_code == 422
    assert "Nothing sensible can be assumed" in without.text


def test_a_whole_brief_goes_to_the_job_that_decides_it(client, monkeypatch):
    asked = []
    jobs = client.app.state.jobs

    def submit(kind, what, person, key=""):
        asked.append((kind, what, person.name))
        return shelf.add_job(kind, what, by=person.name)

    monkeypatch.setattr(jobs, "submit", submit)
    answer = client.post(
        "/briefs/new", data={"yaml": WHOLE, "base": WHOLE, "do": "decide"}, follow_redirects=False
    )
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/jobs/j-")
    kind, what, _ = asked[0]
    kept = shelf.brief(what["brief_id"])
    assert kind == "recommend"
    assert kept.text == WHOLE
    assert what["brief_version"] == 1
    assert what["assume"] is False
    short = client.post(
        "/briefs/new",
        data={"yaml": SHORT, "base": SHORT, "do": "decide", "assume": "1"},
        follow_redirects=False,
    )
    assert short.status_code == 303
    assert asked[1][1]["assume"] is True


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "12 has no unit; it must be a time such as 24 months."),
        ("es", "12 no lleva unidad; debe ser un plazo"),
    ],
)
def test_a_bad_value_is_told_beside_its_field_and_in_the_summary(client, language, said):
    text = SHORT + "horizon: 24 months\n"
    answer = client.post("/briefs/check", data={"yaml": text, "base": text, "f:horizon": "12", "u:horizon": ""},
                         headers={"Accept-Language": language})  # fmt: skip
    assert answer.status_code == 200
    beside = re.search(r'<div id="f-horizon-wrong" class="wrongs"><p class="wrong">([^<]+)', answer.text)
    assert beside
    assert said in beside[1]
    assert 'href="#f-horizon"' in answer.text
    assert 'data-line="4"' in answer.text
    assert re.search(r'<input id="f-horizon"[^>]*aria-invalid="true"', answer.text)


def test_a_fault_of_the_text_is_told_at_its_line(client):
    answer = client.post(
        "/briefs/check", data={"yaml": "name: a\nmodels: [\nx: 1\n", "base": "name: a\n", "f:name": "b"}
    )
    assert "not valid YAML" in answer.text
    assert re.search(r'data-to="yaml" data-line="\d"', answer.text)
    assert yaml_of(answer.text) == "name: a\nmodels: [\nx: 1\n"
    assert 'value="b"' in answer.text


def test_brought_along(client):
    page = client.post("/briefs/upload", files={"file": ("mine.yaml", SHORT.encode())})
    assert page.status_code == 200
    assert yaml_of(page.text) == SHORT
    assert yaml_of(client.post("/briefs/upload", data={"text": SHORT}).text) == SHORT
    assert client.post("/briefs/upload", data={"text": " "}).status_code == 422
    assert client.post("/briefs/upload", files={"file": ("x.yaml", b"\xff\xfe\x00bad")}).status_code == 422


def test_a_log_fills_in_traffic_and_lengths_and_is_not_kept(client):
    rows = "".join(f"{second / 2},{400 + second % 50},{100 + second % 20}\n" for second in range(4000))
    trace = ("arrival_s,input_tokens,output_tokens\n" + rows).encode()
    text = SHORT + "traffic: {growth: 20 %/year, requests_per_day: 5}   # ours\n"
    answer = client.post(
        "/briefs/new", data={"yaml": text, "base": text, "do": "log"}, files={"log": ("week.csv", trace)}
    )
    assert answer.status_code == 200, answer.text[-3000:]
    filled = yaml_of(answer.text)
    assert "requests_per_s" in filled
    assert "input_tokens" in filled
    assert "growth: 20 %/year" in filled
    assert "requests_per_day" not in filled
    assert "# ours" in filled
    assert "week.csv" in answer.text
    assert "4,000" in answer.text
    bad = client.post(
        "/briefs/new", data={"yaml": text, "base": text, "do": "log"}, files={"log": ("x.csv", b"hello")}
    )
    assert bad.status_code == 422
    assert "/tmp" not in bad.text
    assert yaml_of(bad.text) == text
    assert client.post("/briefs/new", data={"yaml": text, "base": text, "do": "log"}).status_code == 422


def test_who_may_only_read_checks_but_keeps_nothing(team_of):
    reader = team_of("reader")
    page = reader.get("/briefs/new?example=support-chat")
    assert page.status_code == 200
    assert 'value="decide"' not in page.text
    checked = reader.post("/briefs/check", data={"yaml": SHORT, "base": SHORT})
    assert checked.status_code == 200
    assert reader.post("/briefs/new", data={"yaml": SHORT, "base": SHORT, "do": "save"}).status_code == 403
    assert not shelf.briefs().items


def test_who_is_elsewhere_opens_no_file_of_this_machine(team_of, tmp_path):
    editor = team_of("editor")
    file = tmp_path / "config.json"
    file.write_text("{}")
    text = f"name: a\nmodels: [{file}, {tmp_path / 'none.json'}]\ntraffic: {{trace: {file}}}\n"
    told = editor.post("/briefs/check", data={"yaml": text, "base": text}).text
    assert (
        told.lower().count("no model is known as") >= 4
    )  # the same for one that is there and one that is not
    assert "CB-S040" in told


HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


def test_whatever_is_typed_stays_text(client):
    import json

    bad = json.dumps(HOSTILE)
    text = f"name: {bad}\nnotes: {bad}\nmodels: [{bad}]\nworkload: {bad}\n{bad}: 1\n"
    text += f"limits: {{lead: {{{bad}: {bad}}}}}\n"
    answer = client.post(
        "/briefs/check", data={"yaml": text, "base": text, f"f:{HOSTILE}": HOSTILE, "brief": HOSTILE}
    )
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text
    id = keep(client, f"name: {json.dumps(HOSTILE)}\n")
    for path in ("/briefs", f"/briefs/{id}", f"/briefs?q={HOSTILE}"):
        assert "<script>alert" not in client.get(path).text
        assert "<img src=x" not in client.get(path).text


@pytest.mark.parametrize(
    "text",
    [
        "x: &a [*a]\n",
        "a: " + "[" * 60,
        "{" * 2000,
        "a: !!python/object/apply:os.system [ls]\n",
        "a: \x00\n",
        "k: v\n" * 11_000,
    ],
)
def test_what_is_too_clever_is_refused_in_words(client, text):
    answer = client.post("/briefs/check", data={"yaml": text, "base": ""})
    assert answer.status_code == 200
    assert "CB-B0" in answer.text
