"""Every door, fuzzed: briefly here, for minutes by ``make test-long``; whatever was ever found is tried first."""

import fuzz_doors as known
import fuzz_loop
import pytest
from fuzz_loop import FOUND, Fuzzer

NAMES = list(known.doors())
BRIEFLY = {"brief": 40, "http": 60, "config": 120, "gguf": 120}  # inputs; 300 where they are cheap
LONG_S = 60.0


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("CABIDA_ONLINE", "0")


@pytest.mark.parametrize("name", NAMES)
def test_examples_go_through(name, tmp_path):
    door = known.doors()[name]
    passed = [known.allowed(door, data, tmp_path) for data in door.seeds]
    assert sum(passed) >= len(passed) / 2


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in sorted(FOUND.glob("*/*"))]
)
def test_what_was_found_once_is_refused_or_read(path, tmp_path):
    assert known.allowed(known.doors()[path.parent.name], path.read_bytes(), tmp_path) in (True, False)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name != "fit"]
)  # a whole answer takes too long here
def test_changed_bytes_never_end_in_a_traceback(name, tmp_path):
    fuzzer = Fuzzer(name, 1, tmp_path)
    fuzzer.run(most=BRIEFLY.get(name, 300))
    assert not fuzzer.found, next(iter(fuzzer.found.values()))[1]


def test_the_harness_finds_what_is_there_to_find(monkeypatch, tmp_path):
    def enter(data, scratch):
        del scratch
        if b"\x80" in data:
            return 1 // 0
        while b"hang" in data:
            pass
        return None

    planted = known.Door(enter, (b"seed",), (b"hang", b"\x80"))
    monkeypatch.setattr(known, "doors", lambda: {"planted": planted})
    monkeypatch.setattr(fuzz_loop, "SLOW_S", 0.02)
    fuzzer = Fuzzer("planted", 3, tmp_path)
    fuzzer.run(most=100)
    assert {found.split()[0] for found in fuzzer.found} == {"ZeroDivisionError", "Slow"}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_changed_bytes_never_end_in_a_traceback_for_long(name, tmp_path):
    fuzzer = Fuzzer(name, 2, tmp_path)
    fuzzer.run(seconds=LONG_S)
    assert fuzzer.runs > 100
    assert not fuzzer.found, next(iter(fuzzer.found.values()))[1]
