"""A model by its repository: read by ranges from a real server, kept on disk, and no server can do harm."""

import json
import time

import pytest
from click.testing import CliRunner
from hub_server import COMMIT, CONFIG, REPO, SECRET, closed_port, refused, serving
from test_checkpoint import TENSORS, written
from test_gguf import PAIRS, STRING, U32
from test_gguf import TENSORS as GGUF_TENSORS
from test_gguf import written as gguf_written

from cabida.errors import InvalidInput
from cabida.faces.cli import cli
from cabida.facts import hub, hub_cache
from cabida.facts.models import model


def test_a_sharded_checkpoint_is_read_by_its_headers(tiny, tmp_path):
    found = model(f"hf:{REPO}")
    assert found.id == REPO
    assert found.checkpoint_bytes == 3856
    sizes = {one.part: one.size_bytes for one in found.stored}
    assert sizes == {
        "embedding": 1600, "attention": 64, "experts": 64, "router": 64, "norm": 16, "extra": 384, "head": 1600
    }  # fmt: skip
    assert COMMIT[:12] in found.source.what
    assert found.source.seen
    assert all("/main/" not in path for path in tiny.paths()[1:])  # all of one commit
    local = tmp_path / "here"
    local.mkdir()
    for path, body in tiny.files.items():
        if "/main/" in path:
            (local / path.rsplit("/", 1)[1]).write_bytes(body)
    assert model(str(local)).stored == found.stored


def test_a_second_question_needs_no_network(tiny, monkeypatch):
    first = model(f"hf:{REPO}")
    asked = len(tiny.asked)
    hub._told.clear()
    assert model(f"hf:{REPO}") == first
    assert len(tiny.asked) == asked
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub._told.clear()
    assert model(f"hf:{REPO}") == first
    assert refused("hf:maker/other").code == "CB-F041"


def test_a_branch_asked_long_ago_is_asked_again_and_only_that(tiny, monkeypatch):
    first = model(f"hf:{REPO}")
    asked = len(tiny.asked)
    now = time.time()
    monkeypatch.setattr("cabida.facts.hub_cache.time.time", lambda: now + 10 * 86_400)
    hub._told.clear()
    assert model(f"hf:{REPO}") == first
    assert tiny.paths()[asked:] == [f"/{REPO}/resolve/main/config.json"]
    monkeypatch.setattr("cabida.facts.hub_cache.time.time", lambda: now + 20 * 86_400)
    tiny.shutdown()  # nobody answers any more: what was seen last counts
    tiny.server_close()
    hub._told.clear()
    assert model(f"hf:{REPO}") == first


def test_a_broken_cache_is_fetched_again(tiny, tmp_path):
    first = model(f"hf:{REPO}")
    for body in (b"", b"{", b"[]", b"\xff", b'{"version": 3}', b'{"version": "x", "asked": "y"}'):
        for path in (tmp_path / "cache").rglob("*.json"):
            path.write_bytes(body)
        hub._told.clear()
        assert model(f"hf:{REPO}") == first


def test_a_cache_that_cannot_be_written_is_no_failure(tiny, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CABIDA_CACHE", str(tmp_path / "file"))
    assert model(f"hf:{REPO}").checkpoint_bytes == 3856
    for name in ("CABIDA_CACHE", "HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert hub_cache.folder() == tmp_path / "xdg" / "cabida"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setattr(hub_cache.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))  # nobody's home
    assert hub_cache.folder() is None
    hub._told.clear()
    assert model(f"hf:{REPO}").checkpoint_bytes == 3856


def test_what_was_downloaded_already_is_read_where_it_lies(tiny, tmp_path, monkeypatch):
    kept = tmp_path / "huggingface" / "hub" / "models--maker--tiny"
    snapshot = kept / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(COMMIT)
    files = {path.rsplit("/", 1)[1]: body for path, body in tiny.files.items() if "/main/" in path}
    for name in ("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors"):
        (snapshot / name).write_bytes(files[name])
    assert model(f"hf:{REPO}").checkpoint_bytes == 3856  # of the hub: one part isn't there yet
    assert tiny.asked
    tiny.asked.clear()
    (snapshot / "model-00002-of-00002.safetensors").write_bytes(files["model-00002-of-00002.safetensors"])
    hub._told.clear()
    found = model(f"hf:{REPO}")
    assert (found.id, found.checkpoint_bytes) == (REPO, 3856)
    assert COMMIT in found.source.what
    assert tiny.asked == []
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub._told.clear()
    assert model(REPO) == found
    assert refused("maker/other", InvalidInput).code == "CB-F010"


def test_a_single_file_and_a_quantisation_beside_it(site):
    site.put(REPO, "config.json", json.dumps(CONFIG).encode())
    site.put(REPO, "model.safetensors", written(TENSORS))
    site.put(REPO, "hf_quant_config.json", b'{"quantization": {"quant_algo": "NVFP4"}}')
    found = model(f"hf:{REPO}@main")
    assert (found.checkpoint_bytes, found.native_format) == (3856, "nvfp4")


def test_a_config_without_weights_is_enough(site):
    site.put(REPO, "config.json", json.dumps(CONFIG).encode())
    found = model(f"hf:{REPO}")
    assert (found.hidden_dim_count, found.stored) == (8, ())


def test_a_name_that_the_catalogue_lacks_is_looked_for(tiny):
    assert model(REPO).checkpoint_bytes == 3856
    told = refused("meta-llama/Llama-3.1-9B", InvalidInput)  # not there either
    assert told.code == "CB-F010"
    assert "meta-llama/Llama-3.1-8B" in told.why


def test_a_gguf_is_read_by_growing_ranges(site):
    words = [f"word{number:06d}" for number in range(150_000)]
    pairs = [pair for pair in PAIRS if pair[0] != "tokenizer.ggml.tokens"]
    pairs.append(("tokenizer.ggml.tokens", 9, (STRING, words)))
    whole = gguf_written(pairs, GGUF_TENSORS)
    assert len(whole) > 2 * 2**20
    names = ["tiny-Q4_K_M.gguf", "tiny-Q8_0.gguf", "mmproj-tiny-f16.gguf", "README.gguf.md"]
    site.list(REPO, names)
    site.put(REPO, names[0], whole + b"\0" * 10**7)
    site.put(REPO, names[1], gguf_written(PAIRS, GGUF_TENSORS))
    eye = [("v.patch_embd.weight", [256, 4], 1)]
    site.put(REPO, names[2], gguf_written([("general.architecture", STRING, "clip")], eye))
    found = model(f"hf:{REPO}")
    assert (found.vocab_count, found.container, found.task) == (150_000, "gguf", "vlm")
    assert names[0] in found.source.what
    assert names[2] in found.source.what
    assert {one.part: one.size_bytes for one in found.stored}["extra"] == 2048
    assert site.sent_bytes < 8 * 10**6  # of 12: the data stayed where it was
    assert names[1] in model(f"hf:{REPO}:q8_0").source.what
    assert names[1] in model(f"hf:{REPO}/{names[1]}").source.what
    told = refused(f"hf:{REPO}:Q2_K")
    assert told.code == "CB-F017"
    assert names[0] in told.what
    asked = len(site.asked)
    hub._told.clear()
    assert model(f"hf:{REPO}") == found
    assert len(site.asked) == asked


def test_a_split_gguf_is_read_in_all_its_parts(site):
    names = [f"Q4_K_M/tiny-Q4_K_M-0000{part}-of-00002.gguf" for part in (1, 2)]
    site.list(REPO, names)
    split = [*PAIRS, ("split.count", U32, 2)]
    site.put(REPO, names[0], gguf_written(split, GGUF_TENSORS[:2]))
    site.put(REPO, names[1], gguf_written([("split.count", U32, 2)], GGUF_TENSORS[2:]))
    assert model(f"hf:{REPO}").checkpoint_bytes == (4 + 256) * 144 + (512 + 4) * 210 + 1024


def test_the_token_goes_to_the_hub_and_nowhere_else(tiny, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", f" {SECRET}\n")
    path = f"/{REPO}/resolve/{COMMIT}/model-00001-of-00002.safetensors"
    with serving({"/elsewhere": tiny.files[path]}) as other:
        tiny.odd[path] = lambda handler: handler.refuse(302, Location=f"{other.url}/elsewhere?signed=1")
        assert model(f"hf:{REPO}").checkpoint_bytes == 3856
        assert all(headers["Authorization"] == f"Bearer {SECRET}" for _, headers in tiny.asked)
        ((_, headers),) = other.asked
        assert "Authorization" not in headers
        assert headers["Range"].startswith("bytes=0-")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("http://192.0.2.1/x", "HTTPS"),
        ("ftp://127.0.0.1/x", "no address"),
        ("file:///etc/passwd", "no address"),
        ("//user:word@127.0.0.1/x", "no address"),
        ("https://169.254.169.254/latest/meta-data", "public"),
        ("https://10.0.0.1/x", "public"),
        ("https://[::ffff:10.0.0.1]/x", "public"),
        ("", "more than"),
        ("https://127.0.0.1:99999/", "no address"),
    ],
)
def test_redirects_to_where_nobody_should_go_are_not_followed(tiny, where, reason):
    tiny.odd[f"/{REPO}/resolve/main/config.json"] = lambda handler: handler.refuse(307, Location=where)
    assert reason in refused(f"hf:{REPO}").what


def test_a_moved_repository_is_followed_and_a_loop_is_not(tiny):
    path = f"/{REPO}/resolve/main/config.json"
    tiny.odd["/old/name/resolve/main/config.json"] = lambda handler: handler.refuse(307, Location=path)
    site_files = {key.replace(f"/{REPO}/", "/old/name/"): body for key, body in tiny.files.items()}
    tiny.files |= site_files
    assert model("hf:old/name").checkpoint_bytes == 3856
    tiny.odd[path] = lambda handler: handler.refuse(307, Location=path)
    assert "redirects" in refused(f"hf:{REPO}").what


@pytest.mark.parametrize(
    ("status", "headers", "code"),
    [
        (401, {}, "CB-F040"),
        (403, {}, "CB-F040"),
        (403, {"X_Error_Code": "GatedRepo"}, "CB-F040"),
        (401, {"X_Error_Code": "RepoNotFound"}, "CB-F017"),
        (404, {}, "CB-F017"),
        (404, {"X_Error_Code": "RevisionNotFound"}, "CB-F017"),
        (429, {}, "CB-F017"),
        (500, {}, "CB-F017"),
        (204, {}, "CB-F017"),
    ],
)
def test_a_refusal_is_one_clear_error(site, monkeypatch, status, headers, code):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    site.odd[f"/{REPO}/resolve/main/config.json"] = lambda handler: handler.refuse(status, **headers)
    told = refused(f"hf:{REPO}")
    assert told.code == code
    assert told.file.startswith(site.url)


def test_the_command_answers_by_the_hub_and_says_when_it_cannot(tiny, monkeypatch):
    done = CliRunner().invoke(
        cli, ["fit", f"hf:{REPO}", "--gpu", "l40s", "--max-model-len", "2048", "--json"]
    )
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for reference, known in (("hf:maker/other", False), ("hf:Qwen/Qwen3-8B", True)):
        done = CliRunner().invoke(cli, ["fit", reference, "--gpu", "l40s"])
        assert done.exit_code == 5
        assert "[CB-F041]" in done.stderr
        assert ("Qwen/Qwen3-8B" in done.stderr) == known


def test_a_hub_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("CABIDA_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", closed_port())
    assert refused(f"hf:{REPO}").code == "CB-F041"
    told = refused("meta-llama/Llama-3.1-9B", InvalidInput)
    assert told.code == "CB-F010"
    assert "meta-llama/Llama-3.1-8B" in told.why
    assert "config.json" in told.cure
    monkeypatch.setenv("HF_ENDPOINT", "https://nowhere.invalid")
    assert refused(f"hf:{REPO}").code == "CB-F041"
    for bad in ("ftp://x", "http://user:pass@host", "huggingface.co", "http://[", "https://h\u00f6st"):
        monkeypatch.setenv("HF_ENDPOINT", bad)
        assert refused(f"hf:{REPO}", InvalidInput).code == "CB-F044"
    monkeypatch.setenv("HF_ENDPOINT", "http://192.0.2.7")
    assert "HTTPS" in refused(f"hf:{REPO}").what


@pytest.mark.parametrize(
    "ref",
    [
        "hf:",
        "hf:one",
        "hf:a/b/c",
        "hf:../../etc/passwd",
        "hf:a/..",
        "hf:a/b@",
        "hf:a/b\n",
        "hf:a b/c",
        "hf:a/b?x",
    ],
)
def test_what_names_no_repository_is_refused_unasked(site, ref):
    assert refused(ref, InvalidInput).code == "CB-F043"
    assert site.asked == []


@pytest.mark.parametrize(
    ("ref", "want"),
    [
        ("https://huggingface.co/Qwen/Qwen3-8B", hub.Asked("Qwen/Qwen3-8B")),
        ("https://hf.co/Qwen/Qwen3-8B/tree/v1.0", hub.Asked("Qwen/Qwen3-8B", "v1.0")),
        ("https://huggingface.co/a/b/blob/main/x/y-Q4_0.gguf", hub.Asked("a/b", file="x/y-Q4_0.gguf")),
        ("hf:a/b@refs/pr/1", hub.Asked("a/b", "refs/pr/1")),
        ("hf:a/b:UD-Q4_K_XL", hub.Asked("a/b", quant="UD-Q4_K_XL")),
    ],
)
def test_the_ways_to_name_a_repository(ref, want):
    assert hub.named(ref)
    assert hub.asked(ref) == want
