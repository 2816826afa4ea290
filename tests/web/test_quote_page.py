"""Quotes on their pages: read, audited, compared, answered, priced; what can't be read is told and nothing is kept."""

import json
import re
from pathlib import Path

import pytest
import yaml

from cabida import app
from cabida.text import catalogue, speaking, tr

QUOTES = Path(__file__).parents[1] / "procure" / "quotes"
BAD = QUOTES / "01-northgate-h100-reserve.yaml"  # three things in it can't be
GOOD = QUOTES / "13-meridian-complete.yaml"  # whole, and nothing contradicts itself
GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "decision.en.json"


def send(client, path, **fields):
    """A quote's file as a browser sends it; the page it leads to."""
    return client.post("/quotes", data=fields, files={"file": (path.name, path.read_bytes())})


def test_a_bad_quote_is_told_its_faults_with_their_lines(client):
    answer = send(client, BAD)
    assert (answer.status_code, answer.url.path) == (200, "/quotes/q1")
    made = app.quote_audit(BAD)
    for finding in made.findings:
        assert finding.code in answer.text
    assert made.answer.replace("'", "&#39;") in answer.text
    assert tr("pages_quotes.verdict.blocked") in answer.text
    assert "CB-Q127</td>" in answer.text  # the sparse figure, and where the quote says it
    lines = re.search(r"<td>([^<]*)</td><td>CB-Q127", answer.text)[1]
    assert lines == "line 16, line 17, line 18, line 10" or lines.startswith("line ")
    assert all(
        gap.question.replace("'", "&#39;") in answer.text for gap in made.gaps if gap.severity == "blocking"
    )


def test_a_good_quote_has_none(client):
    page = send(client, GOOD).text
    assert tr("procure.part.no_findings") in page
    assert tr("procure.part.no_gaps") in page
    assert tr("pages_quotes.verdict.sound") in page
    assert tr("pages_quotes.verdict.blocked") not in page


@pytest.mark.parametrize("path", sorted(QUOTES.glob("[0-9]*")), ids=lambda path: path.name)
def test_every_form_of_quote_says_what_was_read_and_where(client, path):
    page = send(client, path).text
    quote = app.quote_read(path)
    assert f"SHA-256 {quote.sha256[:12]}" in page
    for seen in quote.seen[:40]:
        file, _, line = seen.place.rpartition(":")
        place = tr("pages_quotes.line", line=line) if file == quote.file else seen.place
        assert place in page, seen
    assert page.count('<tr><th scope="row">') >= len(quote.said())


def test_a_pdf_is_read(client, tmp_path):
    lines = [
        "Quotation Q-31",
        "Vendor: Alder Compute",
        "GPU: NVIDIA H100 SXM5 80GB",
        "Quantity: 8",
        "Unit price: 2.40 USD per GPU-hour",
    ]
    text = "BT /F1 12 Tf 50 750 Td 16 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    ]  # fmt: skip
    made, places = b"%PDF-1.4\n", []
    for at, body in enumerate(objects, 1):
        places.append(len(made))
        made += f"{at} 0 obj\n{body}\nendobj\n".encode()
    start = len(made)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    table = (
        f"xref\n0 6\n0000000000 65535 f \n{table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF"
    )
    made += table.encode()
    file = tmp_path / "offer.pdf"
    file.write_bytes(made)
    page = send(client, file)
    assert page.url.path == "/quotes/q1"
    assert "Alder Compute" in page.text
    assert tr("pages_quotes.page_line", page=1, line=3) in page.text


def test_pasted_text_is_a_quote_too(client):
    page = client.post("/quotes", data={"text": (QUOTES / "12-quickgpu-note.txt").read_text(), "vendor": ""})
    assert page.url.path == "/quotes/q1"
    assert "QuickGPU" in page.text


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.yaml", b"  \n", "CB-Q004"),
        ("packed.zip.gz", b"\x1f\x8b\x08rest", "CB-Q002"),
        ("broken.pdf", b"%PDF-1.7 nothing of the kind", "CB-Q002"),
        ("macros.xlsm", b"PK\x03\x04", "CB-Q006"),
        ("nobody.yaml", b"accelerator: H100 SXM\nunit_price: 2 USD\nunit: gpu-hour\n", "CB-Q020"),
        ("twice.yaml", b"vendor: A\nvendor: B\n", "CB-B0"),
    ],
)  # fmt: skip
def test_what_cant_be_read_is_told_by_its_name_and_nothing_is_kept(client, name, content, code):
    answer = client.post("/quotes", data={"vendor": ""}, files={"file": (name, content)})
    assert answer.status_code == 422
    assert code in answer.text
    assert name in answer.text
    assert 'role="alert"' in answer.text
    assert app.quotes() == ()


def test_nothing_given_is_said(client):
    answer = client.post("/quotes", data={"text": "  "}, files={"file": ("", b"")})
    assert answer.status_code == 422
    assert "CB-S062" in answer.text


def test_what_was_typed_stays_when_it_is_refused(client):
    answer = client.post("/quotes", data={"text": "\x00\x01", "vendor": "Alder & Co"})
    assert answer.status_code == 422
    assert 'value="Alder &amp; Co"' in answer.text


def test_too_large_a_file_is_refused(team_of):
    client = team_of("editor", most_upload_bytes=1 << 20)
    answer = client.post("/quotes", files={"file": ("large.txt", b"a" * ((1 << 20) + 10))})
    assert answer.status_code in (413, 422)
    assert app.quotes() == ()


def test_the_same_again_adds_nothing(client):
    assert send(client, BAD).url.query == b"kept=new"
    again = send(client, BAD)
    assert again.url.query == b"kept=known"
    assert tr("pages_quotes.kept_known", id="q1") in again.text
    assert len(app.quotes(every=True)) == 1


def test_nothing_in_a_quote_is_markup(client):
    nasty = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    text = yaml.safe_dump(
        {"vendor": nasty, "quote_id": nasty, "accelerator": "H100 SXM", "support": nasty, "region": nasty}
    )
    page = client.post("/quotes", data={"text": text}).text
    for shown in (page, client.get("/quotes").text, client.get("/quotes/compare?q=q1&q=q1&q=q1").text):
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
    assert "&lt;script&gt;alert(1)" in page


def test_files_go_back_to_the_vendor(client):
    send(client, BAD)
    made = app.quote_audit(BAD)
    letter = client.get("/quotes/q1/letter.md")
    assert letter.headers["content-disposition"] == 'attachment; filename="NG-26-1187.letter.md"'
    assert letter.text == app.quote_letter(made)
    assert client.get("/quotes/q1/annex.md").text == app.quote_annex(made)
    told = json.loads(client.get("/quotes/q1/audit.json").text)
    assert [one["code"] for one in told["findings"]] == [one.code for one in made.findings]
    assert "<html" in client.get("/quotes/q1/audit.html").text
    assert (
        yaml.safe_load(client.get("/quotes/q1/offer.yaml").text)["offers"][0]["accelerator"] == "h100-sxm-80"
    )
    assert client.get("/quotes/q1/anything.else").status_code == 404


@pytest.mark.parametrize("form", ["yaml", "csv", "xlsx"])
def test_a_template_is_a_form_that_reads_back(client, form):
    answer = client.get(f"/quotes/template.{form}?purpose=reserve")
    assert answer.status_code == 200
    made = app.quote_template(form, purpose="reserve")
    assert answer.content[:60] == (made if isinstance(made, bytes) else made.encode())[:60]
    assert client.get(f"/quotes/template.{form}?purpose=nonsense").status_code == 422


def test_only_quotes_of_the_store_are_opened(client, tmp_path, monkeypatch):
    (tmp_path / "q7").write_text(GOOD.read_text())
    monkeypatch.chdir(tmp_path)
    for path in (
        "/quotes/q7",
        "/quotes/..%2Fq7",
        "/quotes/%2Fetc%2Fpasswd",
        "/quotes/compare?q=q7&q=/etc/passwd",
    ):
        assert client.get(path).status_code == 404, path


def test_quotes_side_by_side(client):
    for name in ("01-northgate-h100-reserve.yaml", "08-nubeterra-reserva.txt", "13-meridian-complete.yaml"):
        send(client, QUOTES / name)
    answer = client.get("/quotes/compare?q=q1&q=q2&q=q3&currency=EUR")
    assert answer.status_code == 200
    found = app.quote_compare([one.quote for one in app.quotes()], currency="EUR")
    assert found.answer in answer.text
    assert client.get("/quotes/compare?q=q1").status_code == 422
    assert client.get("/quotes/compare?" + "&".join(f"q=q{at}" for at in range(9))).status_code == 422


def test_against_a_decision_of_the_shelf(client):
    from cabida.evidence import shelf

    kept = shelf.add_decision(GOLDEN.read_text())
    send(client, BAD)
    page = client.get("/quotes/q1").text
    assert f'<option value="{kept.id}">' in page
    held = client.get(f"/quotes/q1?decision={kept.id}").text
    made = app.quote_audit(BAD, decision=GOLDEN)
    assert made.against["price"]["sentence"].replace("'", "&#39;") in held
    assert tr("procure.part.against") in held
    assert tr("procure.part.against") not in page
    assert client.get("/quotes/q1?decision=d-nothing").status_code == 404


def test_what_is_known_takes_the_place_of_an_assumption(client):
    send(client, BAD)
    page = client.get("/quotes/q1?utilisation_ratio=90&stored_gb=500").text
    made = app.quote_audit(BAD, utilisation_ratio=0.9, stored_gb=500.0)
    assert f"{made.price.useful_money_per_hour:.3g} USD" in page
    assert client.get("/quotes/q1?utilisation_ratio=a lot").status_code == 422
    assert client.get("/quotes/q1?utilisation_ratio=250").status_code == 422
    assert client.get("/quotes/q1?currency=XYZ").status_code == 422
    assert client.get("/quotes/q1?as_of=yesterday").status_code == 422


def test_its_price_becomes_an_offer_once(client):
    send(client, BAD)
    before = len(app.prices("h100-sxm-80"))
    answer = client.post("/quotes/q1/price")
    assert tr("pages_quotes.priced_new") in answer.text
    added = [one for one in app.prices("h100-sxm-80") if one["provider"] == "Northgate Cloud"]
    assert [one["amount"] for one in added] == [2.35]
    assert len(app.prices("h100-sxm-80")) == before + 1
    assert tr("pages_quotes.priced_known") in client.post("/quotes/q1/price").text
    assert len(app.prices("h100-sxm-80")) == before + 1
    assert "Northgate Cloud" in client.get("/catalogue/gpus/h100-sxm-80").text


def test_a_quote_that_says_too_little_gives_no_price(client):
    send(client, QUOTES / "09-acorn-a100-rent.csv")
    answer = client.post("/quotes/q1/price")
    assert answer.status_code == 422
    assert "CB-Q022" in answer.text


def test_readers_read_and_change_nothing(team_of, client):
    send(client, BAD)
    reader = team_of("reader")
    page = reader.get("/quotes/q1").text
    assert 'action="/quotes/q1/price"' not in page
    assert 'enctype="multipart/form-data"' not in reader.get("/quotes").text
    assert reader.post("/quotes/q1/price").status_code == 403
    assert reader.post("/quotes", files={"file": (GOOD.name, GOOD.read_bytes())}).status_code == 403


def test_earlier_versions_and_expired_ones(client):
    send(client, BAD)
    text = BAD.read_text().replace("2.35", "2.25")
    client.post("/quotes", data={"text": text})
    assert '/quotes/q1"' not in client.get("/quotes").text
    assert '/quotes/q1"' in client.get("/quotes?every=1").text
    assert tr("pages_quotes.expired") in client.get("/quotes?as_of=2028-01-01").text


@pytest.mark.parametrize("language", ["en", "es"])
def test_both_languages_say_all(client, language):
    with speaking(language):
        send(client, BAD)
        page = client.get("/quotes/q1", params={"lang": language}).text
        made = app.quote_audit(BAD, language=language)
    assert made.answer.replace("'", "&#39;") in page
    assert catalogue(language, "pages_quotes")["read"] in page


# in a real browser


@pytest.mark.parametrize("language", ["en", "es"])
def test_in_a_browser_a_bad_and_a_good_quote(browser_page, language):
    page = browser_page
    words = catalogue(language, "pages_quotes")
    for path, verdict in ((BAD, "blocked"), (GOOD, "sound")):
        page.goto(f"/look?language={language}&next=/quotes")
        page.get_by_label(words["file"], exact=True).set_input_files(path)
        page.get_by_role("button", name=words["audit"]).click()
        page.wait_for_url(re.compile(r"/quotes/q\d+"))
        assert words[f"verdict.{verdict}"] in page.locator("p.lead").inner_text()
        findings = page.locator("section[aria-labelledby=part-findings] tbody tr")
        assert findings.count() == len(app.quote_audit(path).findings)
    with page.expect_download() as found:
        page.get_by_role("link", name=words["letter"]).click()
    assert found.value.suggested_filename.endswith(".letter.md")
    page.goto("/quotes")
    for box in page.locator("input[name=q]").all()[:2]:
        box.check()
    page.get_by_role("button", name=words["compare"]).click()
    assert page.locator("h1").inner_text() == words["beside"]
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/quotes", "/quotes/q1", page.url):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
