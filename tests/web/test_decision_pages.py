"""Pages of decisions: the list, all candidates, an option, a number, a what-if, two side by side."""

import io
import json
import re
import zipfile

import decision_sample as sample
import pytest

from cabida import app
from cabida.choose.levers import levers
from cabida.evidence import shelf
from cabida.faces.web.pages.decisions_kept import Kept, Shelved
from cabida.report import words as say
from cabida.report.store import from_json
from cabida.text import catalogue, tr

PART = {"HX-Request": "true"}


@pytest.fixture
def keep(web_store):
    """Keeps a decision's text on the shelf and gives its address."""
    return lambda text, **more: f"/decisions/{shelf.add_decision(text, **more).id}"


def rows(page):
    """Ranks of the rows of the table, in their order."""
    return [int(one) for one in re.findall(r'<tr id="option-(\d+)"', page)]


def test_an_empty_list_leads_to_a_brief(client):
    page = client.get("/decisions").text
    assert 'href="/briefs"' in page
    assert catalogue("en", "pages_decision")["none_yet"] in page


def test_the_list_is_searched_filtered_and_paged(client, keep):
    ids = [keep(sample.golden().replace('"support-chat"', f'"chat-{at:02d}"', 1)) for at in range(30)]
    other = keep(sample.text_of("qlora-70b"))
    page = client.get("/decisions").text
    shown = re.findall(r'<th scope="row"><a href="(/decisions/[^"]+)"', page)
    assert shown == [other, *reversed(ids)][:25]
    following = re.search(r'rel="next" href="([^"]+)"', page)[1].replace("&amp;", "&")
    assert re.findall(r'<th scope="row"><a href="(/decisions/[^"]+)"', client.get(following).text) == [
        *reversed(ids[:6])
    ]
    assert [one in client.get("/decisions?q=chat-07").text for one in (ids[7], ids[8])] == [True, False]
    kind = client.get("/decisions?workload=adapter-finetune").text
    assert other in kind
    assert ids[29] not in kind
    assert other in client.get("/decisions?mine=1").text
    assert catalogue("en", "pages_decision")["none_found"] in client.get("/decisions?as_of=1999-01-01").text


@pytest.mark.parametrize("language", ["en", "es", "es-MX"])
def test_the_answer_comes_first_then_everything_it_rests_on(client, keep, language):
    at = keep(sample.golden(language[:2]))
    made = from_json(sample.golden(language[:2]))
    page = client.get(at, params={"lang": language}).text
    words = catalogue(language[:2], "report")
    heads = [
        made.answer, words["section.sure"], words["section.flips"], words["section.measure"],
        catalogue(language[:2], "pages_decision")["candidates"],
        words["section.rejected"], words["section.why"], words["section.careful"],
        words["section.sources"],
    ]  # fmt: skip
    places = [
        page.index(f">{one}<") if one is not made.answer else page.index(one.split("·")[0]) for one in heads
    ]
    assert places == sorted(places)
    assert rows(page) == [one.rank for one in made.options]
    for form in ("html", "md", "json", "xlsx", "pdf"):
        assert f'href="{at}/record.{form}"' in page


def test_a_decision_of_the_other_language_keeps_its_sentences(client, keep):
    page = client.get(keep(sample.golden("es")), params={"lang": "en"}).text
    assert catalogue("en", "pages_decision")["other_language.es"] in page
    assert f'<h1 lang="es">{from_json(sample.golden("es")).answer[:20]}' in page
    assert catalogue("en", "report")["section.why"] in page


@pytest.mark.parametrize("reader", ["en", "es", "es-MX"])
@pytest.mark.parametrize("sentence", ["15,376 cost more.", "15.376 cost more.", "15376 cost more."])
def test_a_count_before_a_reason_is_not_said_twice(reader, sentence):
    from cabida.plan import Rejection
    from cabida.text import speaking

    with speaking(reader):
        assert say.rejection(Rejection("X", sentence, 15376)) == "cost more."
        assert say.rejection(Rejection("X", "15,3760 cost more.", 15376)) == "15,3760 cost more."


def test_the_table_is_sorted_and_filtered_by_its_address(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    by_cost = sorted(made.options, key=lambda one: one.cost_per_month_money)
    assert rows(client.get(f"{at}?sort=cost").text) == [one.rank for one in by_cost]
    down = sorted(made.options, key=lambda one: one.cost_per_month_money, reverse=True)
    assert rows(client.get(f"{at}?sort=-cost").text) == [one.rank for one in down]
    page = client.get(f"{at}?sort=-cost").text
    assert page.count('aria-sort="descending"') == 1
    capacity = {one.rank for one in made.options if one.capacity == "spot"}
    assert capacity
    assert set(rows(client.get(f"{at}?capacity=spot").text)) == capacity
    words = made.options[3].title.split()[-1]
    matching = {
        one.rank for one in made.options if words.casefold() in f"{one.title} {one.provider}".casefold()
    }
    assert matching <= set(rows(client.get(at, params={"q": words}).text))
    assert rows(client.get(f"{at}?q=nothing-like-it").text) == []
    assert catalogue("en", "pages_decision")["no_candidate"] in client.get(f"{at}?q=nothing-like-it").text


def test_what_an_option_lacks_stands_last_in_either_order(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    without = [one.rank for one in made.options if "capacity_req_s" not in one.metrics]
    assert without
    for sort in ("capacity_req_s", "-capacity_req_s"):
        assert set(rows(client.get(f"{at}?sort={sort}").text)[-len(without) :]) == set(without)


def test_columns_are_chosen(client, keep):
    at = keep(sample.golden())
    page = client.get(f"{at}?columns=cost&columns=region").text
    heads = re.findall(r'<a id="sort-(\w+)"', page)
    assert heads == ["cost", "region"]


def test_the_table_is_a_part_for_htmx(client, keep):
    at = keep(sample.golden())
    part = client.get(f"{at}?sort=unit", headers=PART | {"HX-Target": "div#candidates"})
    assert "<html" not in part.text
    assert part.text.lstrip().startswith('<div id="candidates">')
    assert part.headers["vary"].count("HX-Target") == 1


def test_many_candidates_come_by_pages(client, keep):
    at = keep(sample.many(130))
    page = client.get(f"{at}?sort=cost&page=2").text
    assert len(rows(page)) == 50
    whole = [rank for part in range(1, 4) for rank in rows(client.get(f"{at}?sort=cost&page={part}").text)]
    assert sorted(whole) == list(range(1, 131))
    cheap = {one.rank: one.cost_per_month_money for one in from_json(sample.many(130)).options}
    assert [cheap[one] for one in whole] == sorted(cheap.values())
    assert rows(client.get(f"{at}?page=99999").text) == rows(client.get(f"{at}?page=3").text)


def test_points_of_the_picture_lead_to_rows(client, keep):
    page = client.get(keep(sample.golden())).text
    links = re.findall(r'<a href="#option-(\d+)" aria-label="[^"]+"><circle', page)
    assert links
    assert {int(one) for one in links} <= set(rows(page))


@pytest.mark.parametrize("name", ["qlora-70b", "story-startup-chatbot", "student-4090"])
def test_decisions_of_other_kinds_have_every_page(client, keep, name):
    every_page(client, keep(sample.text_of(name)), sample.decided(name))


@pytest.mark.long
@pytest.mark.parametrize("name", ["media-images", "rag-support", "evaluation-nightly", "support-chat"])
def test_decisions_that_take_longer_have_every_page_too(client, keep, name):
    every_page(client, keep(sample.text_of(name)), sample.decided(name))


def every_page(client, at, made):
    """Each page of a decision, in both languages."""
    for language in ("en", "es"):
        assert client.get(at, params={"lang": language}).status_code == 200
        for one in made.options[::4]:
            page = client.get(f"{at}/options/{one.rank}", params={"lang": language})
            assert page.status_code == 200
            assert say.price(one.cost_per_month_money, made.currency).split()[1] in page.text
        assert client.get(f"{at}/what-if", params={"lang": language}).status_code == 200
    page = client.get(at).text
    figures = re.findall(rf'href="{at}/explain/([^"]+)"', page)
    assert figures
    for name in figures:
        assert client.get(f"{at}/explain/{name}").status_code == 200


def test_nothing_satisfies_is_no_error(client, keep):
    page = client.get(keep(sample.nothing_satisfies()))
    assert page.status_code == 200
    assert "Nothing satisfies it." in page.text
    assert catalogue("en", "pages_decision")["nothing_satisfies"] in client.get("/decisions").text


def test_an_option_s_page_has_its_pictures_and_its_command(client, keep):
    at = keep(sample.golden())
    made = from_json(sample.golden())
    page = client.get(f"{at}/options/1").text
    for figure in ("memory", "latency", "cost"):
        assert f'id="figure-{figure}"' in page
    assert made.options[0].command.split()[0] in page
    assert f"{at}/options/2" in page
    assert client.get(f"{at}/options/99").status_code == 404
    assert "CB-S081" in client.get(f"{at}/options/x").text


def test_a_number_opens_down_to_its_sources(client, keep):
    made = sample.decided("qlora-70b")
    at = keep(sample.text_of("qlora-70b"))
    nodes = {one["id"]: one for one in made.trees}
    waiting, seen, sources = [made.options[0].trees["unit_cost"]], set(), set()
    assert client.get(f"{at}/explain/unit_cost").status_code == 200
    while waiting and len(seen) < 60:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        part = client.get(f"{at}/nodes/{id}", headers=PART).text
        below = [one["id"] for one in nodes[id]["inputs"]]
        assert {int(one) for one in re.findall(rf'hx-get="{at}/nodes/(\d+)"', part)} <= set(below)
        for one in below:
            assert f"{at}/nodes/{one}" in part
        sources |= set(re.findall(r'<a href="(https?://[^"]+)" rel="noreferrer', part))
        waiting += below
    assert sources
    assert (
        re.search(r'<time datetime="20\d\d-\d\d-\d\d"', part + client.get(f"{at}/nodes/{id}").text) or sources
    )


def test_a_figure_nobody_knows_names_the_nearest(client, keep):
    answer = client.get(f"{keep(sample.golden())}/explain/weights_byts")
    assert answer.status_code == 404
    assert "weights_bytes" in answer.text


def test_a_node_says_what_is_made_of_it(client, keep):
    made = sample.decided("qlora-70b")
    at = keep(sample.text_of("qlora-70b"))
    user = next(one for one in made.trees if one["inputs"])
    page = client.get(f"{at}/nodes/{user['inputs'][0]['id']}").text
    assert user["name"] in page.partition(catalogue("en", "pages_decision")["used_by"])[2]


def free_of(made):
    return [one for one in levers(made) if not one.locked]


def test_a_what_if_is_the_one_of_the_library(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    for one in [one for one in free_of(made) if one.value != one.high][::9]:
        now = app.what_if(made, {one.name: one.high})
        page = client.get(f"{at}/what-if", params={f"set.{one.name}": f"{one.high!r}"}).text
        told = re.findall(r'<span class="rank">(\d+)</span><span><a href="[^"]+/options/(\d+)"', page)
        before = {each.id: each.rank for each in made.options}
        assert told == [(str(each.rank), str(before[each.id])) for each in now.options[: len(told)]]
        assert say.price(now.options[0].cost_per_month_money, made.currency) in page
        part = client.get(
            f"{at}/what-if",
            params={f"set.{one.name}": f"{one.high!r}"},
            headers=PART | {"HX-Target": "div#outcome"},
        )
        assert f"set.{one.name}=" in part.headers["hx-replace-url"].replace("%2F", "/")
        assert "<html" not in part.text


def test_a_what_if_carries_over_to_the_number_and_the_record(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    one = free_of(made)[0]
    value = one.low if one.value != one.low else one.high
    now = app.what_if(made, {one.name: value})
    query = {f"set.{one.name}": f"{value!r}"}
    data = client.get(f"{at}/record.json", params=query).json()
    assert data["answer"] == now.answer
    page = client.get(f"{at}/explain/unit_cost", params=query).text
    assert f"{one.name}=" in page
    assert catalogue("en", "report")["live.flag"] in page


def test_values_out_of_range_and_no_numbers_are_told_beside_the_sliders(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    name = free_of(made)[0].name
    for value, code in (("1e99", "CB-X092"), ("much", "CB-S060"), ("nan", "CB-X092")):
        answer = client.get(f"{at}/what-if", params={f"set.{name}": value})
        assert (answer.status_code, code in answer.text) == (422, True)
    locked = next(one for one in levers(made) if one.locked)
    assert "CB-X091" in client.get(f"{at}/what-if", params={f"set.{locked.name}": "1"}).text
    most = "&".join(f"set.x{at}=1" for at in range(80))
    assert "CB-S082" in client.get(f"{at}/what-if?{most}").text


def test_records_come_in_every_form(client, keep):
    at = keep(sample.golden())
    made = from_json(sample.golden())
    starts = {"html": b"<!doctype html>", "md": b"#", "json": b"{", "xlsx": b"PK", "pdf": b"%PDF"}
    for form, start in starts.items():
        answer = client.get(f"{at}/record.{form}")
        assert answer.content.lstrip().startswith(start)
        assert answer.headers["content-disposition"] == f'attachment; filename="{made.name}.{form}"'
        assert "sandbox" in answer.headers["content-security-policy"]
    assert client.get(f"{at}/record.exe").status_code == 422


def test_files_that_start_an_option(client, keep):
    made = sample.decided("qlora-70b")
    at = keep(sample.text_of("qlora-70b"))
    files = app.launch_files(made, option="2")
    page = client.get(f"{at}/options/2/launch").text
    for name in files:
        assert name in page
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{at}/options/2/launch?file=all").content))
    assert {one: archive.read(one).decode() for one in archive.namelist()} == files
    name = next(iter(files))
    assert client.get(f"{at}/options/2/launch", params={"file": name}).text == files[name]
    assert client.get(f"{at}/options/2/launch?file=../../etc/passwd").status_code == 404


def test_two_options_side_by_side(client, keep):
    made = sample.decided("story-startup-chatbot")
    at = keep(sample.text_of("story-startup-chatbot"))
    id = at.rpartition("/")[2]
    page = client.get(f"/compare?pick={id}:1&pick={id}:4").text
    for rank in (1, 4):
        one = made.options[rank - 1]
        assert say.price(one.cost_per_month_money, made.currency) in page
    assert 'class="differs"' in page
    same = client.get(f"/compare?a={id}:4&b={id}:4").text
    assert 'class="differs"' not in same


def test_two_decisions_say_what_changed(client, keep):
    before = keep(sample.golden()).rpartition("/")[2]
    other = json.loads(sample.golden())
    other["as_of"] = "2027-01-15"
    other["options"][0], other["options"][1] = other["options"][1], other["options"][0]
    for rank, one in enumerate(other["options"], 1):
        one |= {
            "rank": rank,
            "status": "chosen" if rank == 1 else "satisfies" if one["status"] == "chosen" else one["status"],
        }
    after = keep(json.dumps(other)).rpartition("/")[2]
    page = client.get(f"/compare?a={before}&b={after}").text
    found = app.diff(from_json(sample.golden()), from_json(json.dumps(other)))
    assert found.winner_changed
    assert found.winner_after.title in page
    assert "2027-01-15" in page
    assert tr("living.kind.world") in page


def test_sides_that_are_none_say_so(client, keep):
    id = keep(sample.golden()).rpartition("/")[2]
    assert client.get("/compare").status_code == 200
    assert client.get(f"/compare?a={id}").status_code == 200
    assert "CB-S083" in client.get(f"/compare?a={id}:x&b={id}").text
    assert client.get(f"/compare?a={id}:77&b={id}").status_code == 404
    assert client.get("/compare?a=d-none&b=d-none").status_code == 404
    training = keep(sample.text_of("qlora-70b")).rpartition("/")[2]
    assert "CB-Y005" in client.get(f"/compare?a={id}&b={training}").text


def test_decisions_on_the_same_brief_lead_to_what_changed(client, keep):
    brief = shelf.add_brief("chat", "name: chat\nworkload: realtime-inference\n")
    one = keep(sample.golden(), brief_id=brief.id, brief_version=brief.version)
    two = keep(sample.golden("es"), brief_id=brief.id, brief_version=brief.version)
    page = client.get(two).text
    assert f"/compare?a={one.rpartition('/')[2]}&amp;b={two.rpartition('/')[2]}" in page
    assert f'href="/briefs/{brief.id}"' in page


def test_hostile_texts_and_numbers_stay_text(client, keep):
    at = keep(sample.hostile())
    id = at.rpartition("/")[2]
    made = from_json(sample.hostile())
    pages = [at, f"{at}?sort=cost", f"{at}?sort=ttft_ms_p95", f"{at}/what-if", "/decisions"]
    pages += [f"{at}/options/{one.rank}" for one in made.options]
    pages += [f"{at}/nodes/{one['id']}" for one in made.trees]
    pages += [f"/compare?a={id}:1&b={id}:2", f"/compare?a={id}&b={id}", f"{at}/options/1/launch"]
    for path in pages:
        answer = client.get(path)
        assert answer.status_code in (200, 404, 422), path
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert 'href="javascript:' not in answer.text
        assert ">49<" not in answer.text
    for form in ("html", "md", "json", "xlsx", "pdf"):
        assert client.get(f"{at}/record.{form}").status_code in (200, 422), form


def test_a_dropped_decision_is_gone_and_readers_read(web_store, team_of, keep):
    at = keep(sample.golden())
    reader = team_of("reader")
    page = reader.get(at)
    assert page.status_code == 200
    assert f"{at}/rerun" not in page.text
    assert reader.post(f"{at}/rerun").status_code in (401, 403)
    assert f'value="http://127.0.0.1:8765{at}"' in page.text
    shelf.drop_decision(at.rpartition("/")[2])
    assert reader.get(at).status_code == 404
    assert team_of("").get(at).status_code in (303, 401)


def test_deciding_again_is_a_job(client, keep):
    at = keep(sample.text_of("qlora-70b"))
    answer = client.post(f"{at}/rerun", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/jobs/j-")
    job = shelf.job(answer.headers["location"].rpartition("/")[2])
    assert (job.kind, job.asked["decision"]) == ("rerun", at.rpartition("/")[2])


def test_decisions_read_are_kept_within_bounds():
    text, read = sample.golden(), []

    def text_of(name):
        read.append(name)
        return text

    kept = Shelved(most=3, most_chars=10 * len(text))
    for name in ("a", "b", "a", "c", "d", "a", "b"):
        kept.read(name, lambda name=name: text_of(name))
    assert read == ["a", "b", "c", "d", "b"]
    small = Shelved(most=99, most_chars=2 * len(text))
    for name in ("a", "b", "c", "a"):
        small.read(name, lambda name=name: text_of(name))
    assert read[5:] == ["a", "b", "c", "a"]


def test_what_is_made_of_a_decision_is_made_once_and_for_each_language(client):
    from cabida.text import speaking

    kept, made = Kept("x", from_json(sample.golden()), 1), []
    for language in ("en", "es", "en", "es"):
        with speaking(language):
            kept.once("part", lambda: made.append(1))
    assert len(made) == 2
    for at in range(500):
        kept.once(at, lambda: None)
    assert len(kept.made) < 100
