"""What engines and GPUs say meanwhile: metrics pages, logs, NVML, DCGM, ROCm; and the ramp to the edge of memory.

``watcher(target)`` gives a :class:`Watcher` whose rows go into the journal; ``watched(rows)`` is what they come to;
``ramp(ask_at)`` finds where memory ends; ``log_facts(path)`` is what an engine's log says of its start-up;
``survived(before, after)`` whether metrics and the labels that costs are charged by are still there.
"""

from cabida.bench.watch.attribution import Survived, survived
from cabida.bench.watch.memory import MemoryEdge, MemoryLimits, Step, Tried
from cabida.bench.watch.ramping import ramp
from cabida.bench.watch.sampling import Watcher, watcher
from cabida.bench.watch.summing import Figure, Watched, watched
from cabida.bench.watch.tail import LogFacts, Tail, found_ids, log_facts
from cabida.bench.watch.told import sentences

__all__ = [
    "Figure",
    "LogFacts",
    "MemoryEdge",
    "MemoryLimits",
    "Step",
    "Survived",
    "Tail",
    "Tried",
    "Watched",
    "Watcher",
    "found_ids",
    "log_facts",
    "ramp",
    "sentences",
    "survived",
    "watched",
    "watcher",
]
