"""What a drill did is undone part by part: one that can't be doesn't keep the others from it."""

import asyncio
import subprocess
import sys

from cabida.bench.drills.acts import drill
from cabida.plan.bench import Drill


class Silent:
    """A journal that keeps nothing."""

    def event(self, kind, **plain):
        """Nothing."""

    def at(self, clock_s):
        return clock_s


def test_a_worker_that_is_gone_when_it_is_to_go_on_is_started_again_all_the_same(tmp_path):
    mark, pid_file = tmp_path / "undone", tmp_path / "pid"
    undo = (sys.executable, "-c", f"open({str(mark)!r}, 'w')")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as one:
        pid_file.write_text(str(one.pid))

        async def work():
            task = asyncio.ensure_future(
                drill(Drill("kill", pid_file=str(pid_file), signal="STOP", undo=undo, lasts_s=0.5), Silent())
            )
            await asyncio.sleep(0.3)
            one.kill()
            one.wait()
            return await task

        drilled = asyncio.run(work())
    assert mark.exists()
    assert "CB-D012" in drilled.failed
    assert drilled.undone_s is None


def test_a_failed_undo_is_told_beside_a_failed_act():
    def says(text):
        return (sys.executable, "-c", f"print({text!r}); raise SystemExit(3)")

    drilled = asyncio.run(drill(Drill("drain", command=says("no node"), undo=says("no way back")), Silent()))
    assert "no node" in drilled.failed
    assert "no way back" in drilled.failed
