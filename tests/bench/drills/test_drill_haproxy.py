"""HAProxy's admin socket: what is said to it, what is made of its answers, and everything that can be wrong there."""

import asyncio

import pytest

from cabida.bench.drills.haproxy import ANSWER_BYTES_MOST, ServerState, ask, drained, main, put, states
from cabida.errors import EndpointFailed, InvalidInput

PAGE = (
    "# pxname,svname,qcur,qmax,scur,smax,status\n"
    "be,s1,0,0,{sessions},5,{status}\n"
    "be,s2,0,0,1,5,UP\n"
    "odd,line,0,0,many,5,UP\n\n"
)


class Fake:
    """Answers as HAProxy does; ``sessions`` fall by one each time it is asked."""

    def __init__(self, path, sessions=2, answer=None):
        self.path, self.sessions, self.answer = str(path), sessions, answer
        self.heard, self.status = [], "UP"

    async def handle(self, reader, writer):
        line = (await reader.readline()).decode().strip()
        self.heard.append(line)
        if self.answer is not None:
            writer.write(self.answer)
        elif line.startswith("show stat"):
            writer.write(PAGE.format(sessions=self.sessions, status=self.status).encode())
            self.sessions = max(0, self.sessions - 1)
        elif line.startswith("set server"):
            self.status = {"drain": "DRAIN", "ready": "UP"}.get(line.split()[-1], "MAINT")
            writer.write(b"\n")
        writer.close()

    def run(self, work):
        async def served():
            async with await asyncio.start_unix_server(self.handle, self.path):
                return await work

        return asyncio.run(served())


def test_a_server_is_drained_until_nothing_runs_on_it(tmp_path):
    fake = Fake(tmp_path / "s")
    assert fake.run(drained(fake.path, "be/s1", 10.0)) is not None
    assert fake.heard[0] == "set server be/s1 state drain"
    assert fake.heard.count("show stat -1 4 -1") == 3  # 2, 1, 0
    assert fake.status == "DRAIN"


def test_one_that_never_empties_is_not_drained(tmp_path):
    fake = Fake(tmp_path / "s", sessions=10_000)
    assert fake.run(drained(fake.path, "be/s1", 0.3)) is None


def test_one_that_the_page_does_not_name_is_not_drained(tmp_path):
    fake = Fake(tmp_path / "s", sessions=0)
    assert fake.run(drained(fake.path, "be/s9", 0.3)) is None


def test_states_are_read_and_odd_lines_left_out(tmp_path):
    fake = Fake(tmp_path / "s")
    assert fake.run(states(fake.path)) == (ServerState("be", "s1", "UP", 2), ServerState("be", "s2", "UP", 1))


@pytest.mark.parametrize(
    "name", ["s1", "be/s1; shutdown sessions", "be/s1\nset server be/s2 state maint", "", "a/b c"]
)
def test_a_name_is_no_place_for_commands(tmp_path, name):
    fake = Fake(tmp_path / "s")
    with pytest.raises(InvalidInput) as error:
        fake.run(put(fake.path, name, "drain"))
    assert error.value.problems[0].code == "CB-D021"
    assert fake.heard == []


def test_what_haproxy_refuses_is_told_without_control_characters(tmp_path):
    fake = Fake(tmp_path / "s", answer=b"Permission denied\x1b[2J\n")
    with pytest.raises(InvalidInput) as error:
        fake.run(put(fake.path, "be/s1", "drain"))
    assert error.value.problems[0].code == "CB-D022"
    assert "Permission denied" in str(error.value)
    assert "\x1b" not in str(error.value)


def test_nobody_there_and_too_much_said(tmp_path, capsys):
    with pytest.raises(EndpointFailed) as error:
        asyncio.run(ask(str(tmp_path / "none"), "show info"))
    assert error.value.problems[0].code == "CB-D020"
    fake = Fake(tmp_path / "s", answer=b"x" * (ANSWER_BYTES_MOST + 10))
    with pytest.raises(EndpointFailed):
        fake.run(ask(fake.path, "show info"))
    assert main([str(tmp_path / "none"), "drain", "be/s1"]) == 5
    assert main([str(tmp_path / "none"), "ready", "s1"]) == 3
    assert "CB-D020" in capsys.readouterr().err
