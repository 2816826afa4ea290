"""HTTP to one endpoint: addresses and keys, connections, dialects of the APIs, and what became of each request.

::

    endpoint(target) -> Endpoint            where, with the key, which stays in there
    request_body(target, prompt, ...)       the JSON to send
    async with Wire(endpoint, policy) as wire:
        outcome = await wire.ask(ask)       one attempt, exactly one verdict
        habits = await wire.probe()         what the server is, which models it has, how it speaks
    loop.run(coroutine)                     on uvloop where there is one
"""

from cabida.bench.wire.address import Endpoint, endpoint
from cabida.bench.wire.dialects.bodies import request_body
from cabida.bench.wire.exchange import Wire
from cabida.bench.wire.probe import Probe, probe
from cabida.bench.wire.tokens import counted, token_counter
from cabida.bench.wire.words import problem_of, why_text

__all__ = [
    "Endpoint",
    "Probe",
    "Wire",
    "counted",
    "endpoint",
    "probe",
    "problem_of",
    "request_body",
    "token_counter",
    "why_text",
]
