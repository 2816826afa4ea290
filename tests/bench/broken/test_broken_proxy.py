"""The proxy's command with addresses that can't be, and with nobody who types."""

import socket
import subprocess
import sys
import time

import pytest

from cabida.bench.drills.proxying import places


def proxy(*words, within_s=60):
    return subprocess.run(
        [sys.executable, "-m", "cabida", "bench", "proxy", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=within_s, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("listen", "to"),
    [
        ("x", "127.0.0.1:9"), ("127.0.0.1:0", "y"), ("127.0.0.1:-1", "127.0.0.1:9"), ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:65536", "127.0.0.1:9"), ("127.0.0.1:٣", "127.0.0.1:9"), ("127.0.0.1:77", "127.0.0.1:77"),
        ("127.0.0.1: 7", "127.0.0.1:9"),
    ],
)  # fmt: skip
def test_addresses_that_can_not_be_are_told(listen, to):
    with pytest.raises(ValueError, match=r"\w") as caught:
        places(listen, to)
    assert "literal" not in str(caught.value)
    assert places("127.0.0.1:0", "localhost:8000") == ("127.0.0.1", "localhost")


def test_others_are_not_let_in_unasked():
    done = proxy("0.0.0.0:0", "127.0.0.1:9")
    assert (done.returncode, "CB-N009" in done.stderr) == (2, True)


def test_a_port_that_is_taken_is_told_with_its_code():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = proxy(f"127.0.0.1:{taken.getsockname()[1]}", "127.0.0.1:9")
    assert (done.returncode, "CB-D035" in done.stderr) == (5, True)


def test_it_works_where_nobody_types(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server, (tmp_path / "err").open("w+") as told:
        running = subprocess.Popen(
            [sys.executable, "-m", "cabida", "bench", "proxy", "127.0.0.1:0", f"127.0.0.1:{server.getsockname()[1]}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told, text=True,
        )  # fmt: skip
        try:
            assert running.stdout is not None
            port = int(running.stdout.readline().split()[0].rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 10) as one:
                there, _ = server.accept()
                one.sendall(b"through")
                there.settimeout(10)
                assert there.recv(7) == b"through"
                there.close()
            time.sleep(0.2)
        finally:
            running.terminate()
            running.communicate(timeout=20)
        told.seek(0)
        assert told.read() == ""
    assert running.returncode == 0
