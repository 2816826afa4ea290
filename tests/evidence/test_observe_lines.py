"""Hostile and ordinary wrappings of a log: none changes what is read, breaks the reader, or costs unbounded memory."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import logs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence import read as reading
from cabida.evidence import read_file
from cabida.evidence.importers import run
from cabida.evidence.lines import LINE_BYTES, Lines, cleaned
from cabida.evidence.secrets import BLANK, redacted

LOGS = {name: text for name, text in vars(logs).items() if name.isupper() and name not in ("LLAMA", "CONFIG")}


def figures(path):
    return [(one.measured, one.setup) for one in read_file(path).observations]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "vllm.log"
    path.write_text(logs.VLLM_011, encoding="utf-8")
    return figures(path)


def docker(line):
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-05-01T10:00:00.1Z"})


WRAPPINGS = {
    "windows": lambda line: line + "\r",
    "colours": lambda line: f"\x1b[0;36m{line[:30]}\x1b[0;0m{line[30:]}",
    "colours that lost their escape": lambda line: f"[0;36m{line[:14]}[0;0m{line[14:]}",
    "kubernetes": lambda line: f"2026-05-01T10:00:00.123456789Z stderr F {line}",
    "kubectl": lambda line: f"[pod/vllm-0/server] {line}",
    "compose": lambda line: f"vllm-1  | {line}",
    "journal": lambda line: f"May 01 10:00:00 host vllm[123]: {line}",
    "docker": docker,
    "a bar drawn over": lambda line: (
        f"Loading shards:  50%|####      | 1/2\rLoading shards: 100%|##| 2/2\r{line}"
    ),
}


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_wrapped_log_says_the_same(tmp_path, plain, name):
    path = tmp_path / "wrapped.log"
    wrapped = "\n".join(WRAPPINGS[name](line) for line in logs.VLLM_011.splitlines())
    path.write_bytes(wrapped.encode())
    assert figures(path) == plain


@pytest.mark.parametrize("code", ["utf-16", "utf-8-sig", "latin-1"])
def test_powershell_and_others_write_in_other_encodings(tmp_path, plain, code):
    path = tmp_path / "log.txt"
    path.write_bytes(logs.VLLM_011.replace("\n", "\r\n").encode(code))
    assert figures(path) == plain


def test_a_compressed_log_is_read_and_a_broken_one_refused(tmp_path, plain):
    path = tmp_path / "log.gz"
    whole = gzip.compress(logs.VLLM_011.encode() * 3)
    path.write_bytes(gzip.compress(logs.VLLM_011.encode()))
    assert figures(path) == plain
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="CB-E002"):
        read_file(path)


def test_lines_far_into_a_long_log_are_found_and_numbered(tmp_path):
    path = tmp_path / "long.log"
    noise = b'INFO 10.0.0.1:443 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    count = (20 << 20) // len(noise)
    with path.open("wb") as stream:
        stream.write(noise * count)
        stream.write(logs.VLLM_011.encode())
    sign = "GPU KV cache size"
    place = next(at for at, text in enumerate(logs.VLLM_011.splitlines(), 1) if sign in text)
    assert [number for number, text in Lines(path, (sign,)) if sign in text] == [count + place]
    read = read_file(path)
    assert read.observations[0].measured["kv_cache_tokens"] == 1_017_408
    assert read.lines_count == count + len(logs.VLLM_011.splitlines())


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells how much a process held at most"
)
def test_memory_stays_bounded_with_a_line_that_never_ends_and_with_a_bomb(tmp_path):
    endless, bomb = tmp_path / "endless.log", tmp_path / "bomb.gz"
    with endless.open("wb") as stream:
        stream.write(b"vLLM API server version 0.11.0 ")
        for _ in range(48):
            stream.write(b"x" * (1 << 20))
        stream.write(b"\nINFO Model loading took 5.5 GiB and 1 seconds\n")
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(96):
            stream.write(b"\n" * (1 << 20))
    code = (
        "import re\nfrom pathlib import Path\n"
        "from cabida.evidence import read_file\nfrom cabida.errors import InvalidInput\n"
        f"assert read_file({str(endless)!r}).observations[0].measured == {{'weights_gib_per_gpu': 5.5}}\n"
        f"try: read_file({str(bomb)!r})\nexcept InvalidInput as told: assert 'CB-E002' in str(told)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 200e6
    assert max(len(text) for _, text in Lines(endless)) <= LINE_BYTES


def test_unknown_lines_are_kept_counted_and_bounded(tmp_path):
    path = tmp_path / "log"
    path.write_text(logs.VLLM_011 + "".join(f"INFO something new {at} {'y' * 2000}\n" for at in range(1000)))
    read = read_file(path)
    assert read.unknown_count == 1000
    assert 0 < len(read.unknown) <= 400
    assert all(len(text) <= 500 for _, text in read.unknown)
    assert dict(read.unknown)[len(logs.VLLM_011.splitlines()) + 1].startswith("INFO something new 0")


@pytest.mark.parametrize(
    "what", ["", "hello\n", "\x00\x01\x02", "PK\x03\x04 zip of nothing", "{}\n", "[" * 100_000]
)
def test_a_file_that_says_nothing_is_refused(tmp_path, what):
    path = tmp_path / "odd"
    path.write_text(what, encoding="latin-1")
    with pytest.raises(InvalidInput, match="CB-E005" if what.startswith("PK") else "CB-E003"):
        read_file(path)


def test_what_looks_like_a_log_and_has_no_figure_says_so(tmp_path):
    path = tmp_path / "log"
    path.write_text("INFO vLLM API server version 0.11.0\n")
    with pytest.raises(InvalidInput, match="CB-E004"):
        read_file(path)


@pytest.mark.parametrize("path", ["nowhere.log", ".", "/dev/null/x", "a\0b"])
def test_what_cannot_be_read_is_refused(path):
    with pytest.raises(InvalidInput, match="CB-E001"):
        read_file(path)


def test_a_log_of_many_restarts_keeps_a_bounded_number_of_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ALL_KEPT", 25)
    path = tmp_path / "log"
    path.write_text("\n".join([logs.VLLM_011, *(f"nobody knows {n}" for n in range(10))] * 9))
    read = read_file(path)
    assert len({one.id for one in read.observations}) == 1
    assert len(read.unknown) <= 25 < read.unknown_count


def test_a_pipe_is_read_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 16)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    endless = f"while True: print({logs.VLLM_011!r})"
    with (
        pipe.open("r+b", buffering=0) as both,
        subprocess.Popen([sys.executable, "-c", endless], stdout=both) as writing,
    ):
        assert 0 < read_file(pipe).size_bytes <= 1 << 16
        writing.kill()


def test_a_pipe_that_nobody_writes_into_is_refused_and_a_slow_writer_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WRITER_S", 0.05)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidInput, match=r"pipe: .*nobody writes.*CB-E001"):
        read_file(pipe)
    slow = f"import sys; sys.stdin.read(1); open({str(pipe)!r}, 'w').write({logs.VLLM_011!r})"
    silent, blocking = os.open(pipe, os.O_RDWR), os.set_blocking  # somebody is there
    with subprocess.Popen([sys.executable, "-c", slow], stdin=subprocess.PIPE) as writing:

        def at_last(*handle):
            writing.communicate(b"x")
            os.close(silent)
            blocking(*handle)

        monkeypatch.setattr(os, "set_blocking", at_last)
        found = read_file(pipe)
    assert found.observations


SECRETS = [
    ("--api-key {} --model m", "abcdef123"),
    ("api_key='{}', model='m'", "abcdef123"),
    ("'api_key': ['{}'], 'model': 'm'", "abcdef123"),
    ("HF_TOKEN={} python", "hf_abcdefghijklmnopqrst"),
    ("huggingface token hf_{}", "abcdefghijklmnopqrstuvwxyz"),
    ("Authorization: Bearer {}", "abcdefgh12345678"),
    ("pulling https://user:{}@host/x", "pa55word"),
    ("OPENAI_API_KEY={}", "sk-abcdefghijklmnop1234"),
    ("GET /v1?token={}&x=1", "abcdef123"),
    ("aws AKIA{} used", "ABCDEFGHIJKLMNOP"),
    ("ssl_keyfile_password: {}", "hunter2"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_secrets_are_blanked(line, secret):
    told = redacted(line.format(secret))
    assert secret not in told
    assert BLANK in told


@pytest.mark.parametrize(
    "text", [line for log in (logs.VLLM_011, logs.SGLANG) for line in log.splitlines()[2:]]
)
def test_what_is_no_secret_stays(text):
    if "api_key" not in text:
        assert redacted(text) == text


def test_nothing_of_a_secret_is_in_what_is_kept(tmp_path):
    path = tmp_path / "log"
    path.write_text(logs.VLLM_011 + "env HF_TOKEN=hf_thisisasecrettoken1234 started\n")
    read = read_file(path, note="by token=hf_thisisasecrettoken1234")
    kept = json.dumps([one.case() for one in read.observations]) + json.dumps(read.unknown)
    assert "secrettoken" not in kept
    assert "sk-not-to-be-kept" not in kept


@pytest.mark.parametrize(
    "line",
    [
        "INFO 05-12 09:00:00 logger.py:36] Received request cmpl-1: prompt: 'my diagnosis is', params: None",
        "Receive: obj=GenerateReqInput(text='my diagnosis is', rid='1')",
        'srv  log_server_r: request: {"messages": [{"role": "user", "content": "my diagnosis is"}]}',
        'INFO:     10.1.2.3:4242 - "POST /v1/my-diagnosis HTTP/1.1" 200 OK',
    ],
)
def test_what_users_asked_is_counted_and_not_kept(tmp_path, line):
    path = tmp_path / "log"
    path.write_text(logs.VLLM_011 + line + "\nINFO something else\n")
    read = read_file(path)
    assert read.unknown_count == 2
    assert [text for _, text in read.unknown] == ["INFO something else"]


RANKS = {
    rank: [line for line in logs.VLLM_011.splitlines() if f"Worker_TP{rank}" in line] for rank in (0, 1)
}  # fmt: skip
HEAD = [line for line in logs.VLLM_011.splitlines() if "Worker_TP" not in line]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ranks_may_speak_in_any_order(tmp_path_factory, plain, data):
    """Lines of several processes are interleaved at will; each keeps its own order."""
    queues = [list(HEAD), *(list(lines) for lines in RANKS.values())]
    mixed = [queues[0].pop(0) for _ in range(3)]
    while any(queues):
        full = [queue for queue in queues if queue]
        mixed.append(data.draw(st.sampled_from(full)).pop(0))
    path = tmp_path_factory.getbasetemp() / "mixed.log"
    path.write_text("\n".join(mixed))
    assert figures(path) == plain


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(sorted(LOGS)), share=st.floats(0, 1), noise=st.binary(max_size=40))
def test_a_log_cut_anywhere_says_less_but_nothing_else(tmp_path_factory, name, share, noise):
    whole = LOGS[name].encode()
    path = tmp_path_factory.getbasetemp() / "cut.log"
    path.write_bytes(whole)
    every = [set(one.measured) for one in read_file(path).observations]
    path.write_bytes(whole[: int(len(whole) * share)] + b"\n" + noise)
    try:
        found = read_file(path).observations
    except InvalidInput as refused:
        told = refused.problems[0].code
    else:
        told = ""
        assert len(found) == 1
        extra = set(found[0].measured) - every[0]
        assert extra <= {"kv_cache_tokens", "activation_peak_gib"}  # what a later line would have corrected
    assert told in ("", "CB-E003", "CB-E004")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([line for text in LOGS.values() for line in text.splitlines()]), max_size=30))
def test_lines_of_any_logs_in_any_order_never_break_a_reader(tmp_path_factory, shuffled):
    path = tmp_path_factory.getbasetemp() / "shuffled.log"
    path.write_text("\n".join(shuffled))
    try:
        read = read_file(path)
    except InvalidInput:
        return
    for one in read.observations:
        json.dumps(one.case(), allow_nan=False)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="\n"), max_size=300))
def test_any_line_is_cleaned_without_control_characters(text):
    assert all(letter.isprintable() or ord(letter) > 127 for letter in cleaned(text))


HOSTILE = [
    "a-" * 32_000,
    "token=" * 10_000,
    "(" * 60_000,
    "[2025 TP" * 8_000,
    "loaded meta data with x from " * 2_000,
    "Capture cuda graph end" * 3_000,
    "out of memory. Tried to allocate CUDA out of memory. Tried to allocate 1 MiB " + "1" * 60_000,
    "| 0 " + " " * 60_000,
    "memory.used [MiB], name",
    "INFO Model loading took " + "9" * 5_000 + " GiB",
    "GPU KV cache size: " + "9" * 14 + "9 tokens",
    "Model loading took 1.2.3 GiB",
    "n_ctx = " + "9" * 400,
    "server_args=ServerArgs(" + "context_length=(" * 4_000,
    "http://" + "a" * 60_000,
    "eyJ" + "a-" * 30_000,
    '{"kind": "memory", "measured": {"fits": true}, "tp": "two", "args": [1], "model": {"a": []}}',
    '{"kind": "memory", "measured": {"weights_gib_per_gpu": 1e999}, "gpus": "x", "tp": 1.5}',
    '{"kind": "memory", "measured": {"a": ' + "[" * 500 + "]" * 500 + "}}",
    '{"measured":' + "[" * 30_000,
]


@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_hostile_lines_cost_bounded_time(tmp_path, at):
    path = tmp_path / "hostile"
    signs = "vLLM API server version 1\nserver_args=1\nllama_model_loader:\n[TensorRT-LLM]\n"
    for first in signs.splitlines():
        path.write_text(first + "\n" + (HOSTILE[at] + "\n") * 3)
        before = time.process_time()
        try:
            found = read_file(path).observations
        except InvalidInput:
            found = ()
        assert time.process_time() - before < 2
        for one in found:
            json.dumps(one.case(), allow_nan=False)
            assert one.id
