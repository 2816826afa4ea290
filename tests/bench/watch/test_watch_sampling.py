"""Watching an endpoint: what is lost is a row, and neither the run nor the load's loop waits for it."""

import asyncio
import gc
import threading
import time
import warnings
from dataclasses import replace

import pytest
from page_server import serving_pages

from cabida.bench.clock import now_s
from cabida.bench.watch import sampling, watched, watcher
from cabida.bench.watch.aside import Aside, Late
from cabida.bench.watch.source import seen, together
from cabida.bench.watch.told import event_sentence
from cabida.bench.wire import endpoint
from cabida.errors import InvalidInput
from cabida.evidence.machine.nouns import Roots
from cabida.evidence.pages import Increases, growing, read_page
from cabida.plan.bench import Target

PAGE = """\
process_start_time_seconds {start}
vllm:num_requests_running{{model_name="m"}} {running}
vllm:num_requests_waiting{{model_name="m"}} 0
vllm:kv_cache_usage_perc{{model_name="m"}} 0.5
vllm:num_preemptions_total{{model_name="m"}} {preempted}
vllm:prompt_tokens_total{{model_name="m"}} {tokens}
vllm:generation_tokens_total{{model_name="m"}} {tokens}
vllm:time_to_first_token_seconds_sum{{model_name="m"}} {tokens}
vllm:time_to_first_token_seconds_count{{model_name="m"}} {tokens}
vllm:cache_config_info{{block_size="16",num_gpu_blocks="100"}} 1
"""


def page(start=1000, running=1, preempted=0, tokens=10):
    return PAGE.format(start=start, running=running, preempted=preempted, tokens=tokens)


@pytest.fixture
def bare(tmp_path):
    """A machine without cards."""
    return Roots(root=tmp_path, path="", nvml=False)


def watching(url, bare, **more):
    every_s = more.pop("every_s", 0.3)
    return watcher(Target(f"{url}/v1", model="m", **more), every_s=every_s, roots=bare)


def events(rows):
    return [row["event"] for row in rows if "event" in row]


def test_a_run_is_watched_from_its_first_look_to_its_last(bare):
    async def run(server):
        one = watching(server.url, bare, every_s=0.02)
        rows = await one.begin()
        stop = asyncio.Event()

        def told(row):
            rows.append(row)
            count = sum("event" not in row for row in rows)
            server.text = page(running=count, tokens=10 + 10 * count, preempted=count)
            if count == 5:
                stop.set()

        await one.run(told, stop)
        one.close()
        return one, rows

    with serving_pages(page()) as server:
        one, rows = asyncio.run(run(server))
    assert one.facts["engine"] == "vllm"
    assert one.facts["kv_tokens"] == 1600
    assert one.facts["models"] == ["m"]
    assert events(rows)[:3] == ["page", "no-gpu", "facts"]
    figures = [row for row in rows if "event" not in row]
    assert len(figures) in (5, 6)
    assert figures[0]["kv_used_tokens"] == 800
    assert figures[0]["generation_tokens"] == 0
    assert figures[-1]["generation_tokens"] >= 40
    assert "kv_tokens" not in figures[0]
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    found = watched(rows)
    assert found.samples_count == len(figures)
    assert found.facts["engine"] == "vllm"
    assert found.increases["ttft_s.mean"] == 1
    assert found.increases["preemptions_count"] >= 3
    assert found.figures["running_count"].least == 1
    assert found.figures["running_count"].most >= 4
    assert (found.energy_j, found.power_mean_w, found.memory_most_bytes) == (None, None, {})
    assert any("No graphics card was found" in note for note in one.notices)


def test_a_page_that_goes_and_comes_back_is_two_rows_and_a_restart_a_third(bare):
    async def run(server):
        one = watching(server.url, bare)
        rows = await one.begin()
        rows += await one.sample()
        server.status = 503
        rows += await one.sample()
        rows += await one.sample()
        server.status, server.text = 200, page(start=2000, tokens=4)
        rows += await one.sample()
        one.close()
        return rows

    with serving_pages(page()) as server:
        rows = asyncio.run(run(server))
    assert events(rows)[2:] == ["facts", "page-lost", "page-back", "server-restarted", "facts"]
    lost = next(row for row in rows if row.get("event") == "page-lost")
    assert (lost["why"], lost["detail"]) == ("status", "503")
    assert "503" in event_sentence(lost)
    figures = [row for row in rows if "event" not in row]
    assert "running_count" not in figures[1]  # lost is not zero
    assert figures[3]["generation_tokens"] == 4


def test_a_server_that_hangs_costs_neither_the_sample_nor_the_loop(bare, monkeypatch):
    async def run(server):
        monkeypatch.setattr(sampling, "LATE_S", 0.7)
        one = watching(server.url, bare, every_s=0.25)
        await one.begin()
        server.wait_s = 30.0
        most_s, stop = 0.0, False

        async def beat():
            nonlocal most_s
            while not stop:
                before = now_s()
                await asyncio.sleep(0.005)
                most_s = max(most_s, now_s() - before)

        beating = asyncio.ensure_future(beat())
        began = now_s()
        rows = [row for _ in range(3) for row in await one.sample()]
        took_s = now_s() - began
        stop = True
        await beating
        one.close()
        return rows, took_s, most_s

    with serving_pages(page()) as server:
        rows, took_s, most_s = asyncio.run(run(server))
        assert [row["why"] for row in rows if "event" in row] == [
            "slow"
        ]  # once, when it was late for too long
        assert [row.get("late_count") for row in rows if "event" not in row] == [1, 1, None]
        assert took_s < 10.0
        assert most_s < 5.0  # and not the 30 seconds


def test_a_page_that_drips_for_ever_ends(bare):
    async def run(server):
        one = watching(server.url, bare, every_s=4.0)
        await one.begin()
        server.drip = True
        one._pages[0].address.limit_s = 0.5
        rows = await one.sample()
        one.close()
        return rows

    with serving_pages(page()) as server:
        rows = asyncio.run(run(server))
    assert [row.get("why") for row in rows if "event" in row] == ["slow"]


@pytest.mark.parametrize(
    ("status", "kind", "text", "why"),
    [
        (404, "text/html", "no", "404"),
        (200, "text/html", "<html></html>", "web page"),
        (501, "application/json", "{}", "501"),
        (302, "text/plain", "", "302"),
    ],
)
def test_no_page_is_told_before_the_run(bare, status, kind, text, why):
    async def run(server):
        one = watching(server.url, bare)
        rows = await one.begin() + await one.sample()
        one.close()
        return one, rows

    with serving_pages() as server:
        server.status, server.kind, server.text = status, kind, text
        one, rows = asyncio.run(run(server))
        assert server.paths == ["/metrics", "/prometheus/metrics"]  # not asked again each second
    assert any(why in note for note in one.notices)
    assert [set(row) for row in rows if "event" not in row] == [{"at_s", "took_s"}]


def test_a_server_that_is_not_up_yet_is_watched_when_it_comes(bare):
    async def run():
        with serving_pages(page()) as server:
            port = server.port
        one = watching(f"http://127.0.0.1:{port}", bare)
        rows = await one.begin()
        assert "event" in rows[0]
        assert rows[0]["why"] == "refused"
        with serving_pages(page(running=5)) as server:
            one._pages[0].address.url = f"{server.url}/metrics"
            rows = await one.sample()
        one.close()
        return one, rows

    one, rows = asyncio.run(run())
    assert rows[0]["running_count"] == 5
    assert one.facts["engine"] == "vllm"
    assert events(rows) == ["page-back", "facts"]


def test_the_page_of_trtllm_serve_is_found_beside_its_json(bare):
    async def run(server):
        one = watching(server.url, bare)
        await one.begin()
        rows = await one.sample()
        one.close()
        return one, rows

    with serving_pages() as server:
        server.by_path = {
            "/metrics": (200, "application/json", "[]"),
            "/prometheus/metrics": (200, "text/plain", 'trtllm_num_requests_running{model_name="m"} 4\n'),
        }
        one, rows = asyncio.run(run(server))
    assert one.facts["engine"] == "tensorrt-llm"
    assert rows[0]["running_count"] == 4
    assert any("waiting_count" in note for note in one.notices)  # what it lacks is told by name


def test_a_page_nobody_knows_is_told(bare):
    async def run(server):
        one = watching(server.url, bare)
        await one.begin()
        one.close()
        return one

    with serving_pages("http_requests_total 3\n") as server:
        one = asyncio.run(run(server))
    assert any("no metric that is known" in note for note in one.notices)


def test_the_key_goes_to_the_endpoint_and_to_nobody_else(bare, monkeypatch):
    monkeypatch.setenv("WATCH_KEY", "sk-very-secret-0123456789")

    async def run(own, other):
        target = Target(
            f"{own.url}/v1", key="env:WATCH_KEY", metrics=f"{own.url}/metrics {other.url}/metrics"
        )
        one = watcher(target, endpoint=endpoint(target), roots=bare)
        rows = await one.begin() + await one.sample()
        one.close()
        return one, rows

    with serving_pages(page()) as own, serving_pages('DCGM_FI_DEV_POWER_USAGE{gpu="0"} 100\n') as other:
        one, rows = asyncio.run(run(own, other))
    assert own.headers[0]["authorization"] == "Bearer sk-very-secret-0123456789"
    assert all("authorization" not in asked for asked in other.headers)
    assert "secret" not in repr(rows) + repr(one.notices) + repr(one._pages[0].address)
    figures = next(row for row in rows if "event" not in row)
    assert figures["gpu.0.power_w"] == 100  # an exporter beside the engine


def test_replicas_are_watched_as_one_and_one_that_goes_takes_no_counter_back(bare):
    async def run(first, second):
        one = watching(first.url, bare, metrics=f"{first.url} {second.url}")
        rows = await one.begin()
        first.text, second.text = page(running=2, tokens=20), page(start=5, running=3, tokens=40)
        rows += await one.sample()
        second.status = 503
        rows += await one.sample()
        one.close()
        return one, rows

    with serving_pages(page()) as first, serving_pages(page(start=5)) as second:
        one, rows = asyncio.run(run(first, second))
    assert (one.facts["kv_tokens"], one.facts["engines_count"], one.facts["models"]) == (3200, 2, ["m"])
    both, alone = (row for row in rows if "event" not in row)
    assert (both["running_count"], both["kv_used_ratio"], both["generation_tokens"]) == (5, 0.5, 10 + 30)
    assert (alone["running_count"], alone["generation_tokens"]) == (2, 10 + 30)


def test_a_page_that_names_new_things_for_ever_stays_small(monkeypatch):
    monkeypatch.setattr(growing, "SERIES_KEPT", 500)
    increases, found = Increases(), None
    for turn in range(30):
        lines = [
            f'vllm:request_success_total{{finished_reason="{turn}-{at}",model_name="m{at}"}} 1'
            for at in range(100)
        ]
        found = seen(read_page("\n".join(lines)), increases, "")
    assert len(increases._last) == 500
    assert len(found.figures) <= 1001
    assert len(found.models) == 50
    hostile = seen(read_page('vllm:num_requests_running{model_name="\x1b[31mx"} 1\n'), Increases(), "")
    assert hostile.models == ("[31mx",)


def test_figures_of_several_pages():
    found = together(
        [
            {
                "kv_used_ratio": 0.2,
                "running_count": 1,
                "block_size_tokens": 16,
                "gpu.0.power_w": 1,
                "gpu.1.power_w": 2,
            },
            {"kv_used_ratio": 0.6, "running_count": 4, "block_size_tokens": 32, "gpu.0.power_w": 3},
        ]
    )
    assert found == {
        "kv_used_ratio": pytest.approx(0.4),
        "kv_used_ratio.most": 0.6,
        "running_count": 5,
        "block_size_tokens": 32,
        "gpu.0.power_w": 1,
        "gpu.1.power_w": 2,
        "gpu.2.power_w": 3,
    }


@pytest.mark.parametrize(
    ("metrics", "code"),
    [
        ("ftp://h/metrics", "CB-H001"),
        ("http:///metrics", "CB-H001"),
        ("http://h:0/metrics", "CB-H001"),
        ("http://h:x/metrics", "CB-H001"),
        ("http://user:secret@h/metrics", "CB-H002"),
    ],
)
def test_addresses_that_are_none(metrics, code):
    with pytest.raises(InvalidInput) as told:
        watcher(Target("http://127.0.0.1:1/v1", metrics=f"{metrics} http://fine:1/metrics"))
    assert [one.code for one in told.value.problems] == [code]
    assert "secret" not in str(told.value)


def test_a_log_that_is_not_there_yet_is_told_and_followed_later(bare, tmp_path):
    async def run():
        one = watching("http://127.0.0.1:9", bare, log=str(tmp_path / "engine.log"))
        rows = await one.begin() + await one.sample()
        (tmp_path / "engine.log").write_text("CUDA out of memory\n")
        rows += await one.sample()
        one.close()
        return one, rows

    one, rows = asyncio.run(run())
    assert any("engine.log" in note for note in one.notices)
    assert [row["event"] for row in rows if row.get("event", "").startswith("log")] == [
        "log-lost",
        "log-back",
        "log",
    ]


def test_an_exporters_page_tells_what_happens_to_its_cards(bare):
    line = (
        'DCGM_FI_DEV_XID_ERRORS{{gpu="1"}} {}\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{gpu="1"}} {}\n'
        'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{gpu="1"}} {}\n'
    )

    async def run(server):
        one = watcher(
            Target("http://192.0.2.1/v1", metrics=f"{server.url}/metrics"), loopback=False, roots=bare
        )
        rows = await one.begin() + await one.sample()
        for said in ((79, 4, 2), (79, 4, 2), (79, 1, 2)):
            server.text = line.format(*said)
            rows += await one.sample()
        one.close()
        return rows

    with serving_pages(line.format(0, 0, 2)) as server:
        rows = asyncio.run(run(server))
    told = [row for row in rows if "event" in row and row["event"] not in ("page", "facts")]
    assert [(row["event"], row["gpu"]) for row in told] == [("xid", 1), ("slowed", 1), ("full-speed", 1)]


def test_cards_keep_their_numbers_while_another_exporter_is_away(bare):
    watts = 'DCGM_FI_DEV_POWER_USAGE{{gpu="0"}} {}\n'

    async def run(first, second):
        metrics = f"{first.url}/metrics {second.url}/metrics"
        one = watcher(Target("http://192.0.2.1/v1", metrics=metrics), loopback=False, roots=bare)
        await one.begin()
        rows = await one.sample()
        first.status = 503
        rows += await one.sample()
        one.close()
        return [row for row in rows if "event" not in row]

    with serving_pages(watts.format(100)) as first, serving_pages(watts.format(250)) as second:
        both, alone = asyncio.run(run(first, second))
    assert (both["gpu.0.power_w"], both["gpu.1.power_w"]) == (100, 250)
    assert "gpu.0.power_w" not in alone
    assert alone["gpu.1.power_w"] == 250


def test_elsewhere_this_machines_cards_are_not_read(bare):
    async def run():
        one = watcher(Target("http://192.0.2.1/v1"), loopback=False, roots=replace(bare, nvml=True))
        rows = await one.begin() + await one.sample()
        one.close()
        return one, rows

    one, rows = asyncio.run(run())
    assert any("another machine" in note for note in one.notices)
    assert any("No metrics page" in note for note in one.notices)
    assert [set(row) for row in rows] == [{"at_s", "took_s"}]


def test_sizes_that_a_server_tells_elsewhere(bare):
    async def run(server):
        one = watching(server.url, bare)
        await one.begin()
        one.close()
        return one

    with serving_pages("llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n") as server:
        server.by_path = {
            "/props": (
                200,
                "application/json",
                '{"default_generation_settings": {"n_ctx": 512}, "total_slots": 4}',
            )
        }
        one = asyncio.run(run(server))
    assert (one.facts["context_tokens"], one.facts["running_most_count"], one.facts["kv_tokens"]) == (
        512,
        4,
        2048,
    )
    with serving_pages("llamacpp:requests_processing 0\n") as server:
        server.by_path = {"/props": (200, "application/json", "[" * 5000)}
        one = asyncio.run(run(server))
    assert "context_tokens" not in one.facts


def test_an_asides_call_is_never_made_twice_at_once():
    going, most, gate = 0, 0, threading.Event()

    def call():
        nonlocal going, most
        going += 1
        most = max(most, going)
        gate.wait(5)
        going -= 1
        return 7

    async def run():
        one = Aside("test", call)
        with pytest.raises(Late):
            await one.ask(0.05)
        with pytest.raises(Late):
            await one.ask(0.05)
        gate.set()
        until = time.monotonic() + 5
        while one.busy and time.monotonic() < until:
            await asyncio.sleep(0.01)
        assert await one.ask(5) == 7
        one.close()

    asyncio.run(run())
    assert most == 1


def test_an_aside_tells_what_its_call_raised_and_ends_after_its_loop():
    def call():
        message = "driver"
        raise OSError(message)

    async def run():
        one = Aside("test", call)
        with pytest.raises(OSError, match="driver"):
            await one.ask(5)
        slow = Aside("slow", lambda: time.sleep(0.2))
        with pytest.raises(Late):
            await slow.ask(0.01)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(run())
        time.sleep(0.3)  # its answer comes when the loop is gone
        gc.collect()
