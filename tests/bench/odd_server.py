"""Servers that answer by script, on the loop of the test: whole, in pieces, late, wrongly, or not at all."""

import asyncio
import socket
import struct
from contextlib import asynccontextmanager

import orjson

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
EOF, RESET, STAY = (
    "eof",
    "reset",
    "stay",
)  # steps: close the connection, break it, keep it open and say no more


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(body):
    return b"data: " + (body if isinstance(body, bytes) else orjson.dumps(body)) + b"\n\n"


def delta(content=None, finish=None, index=0, **more):
    part = {"content": content, **more} if content is not None else more
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": index, "delta": part, "finish_reason": finish}],
    }


def usage(prompt=7, completion=3, **more):
    return {
        "id": "c",
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **more},
    }


def whole_json(body, status=200, headers=b"", reason=b"OK"):
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n%b" % (
        status, reason, len(data), headers, data
    )  # fmt: skip


def streamed(*events, done=True):
    """The steps of a sound stream of ``events``, each in a write of its own."""
    last = [chunk(event(b"[DONE]"))] if done else []
    return [HEAD, *(chunk(event(one)) for one in events), *last, END]


class Scripted(asyncio.Protocol):
    """Plays ``script(head, body)`` for every request: bytes are written, numbers are pauses in seconds."""

    def __init__(self, server):
        self.server, self.buffer, self.task = server, b"", None
        self.played = 0

    def connection_made(self, transport):
        self.transport = transport
        self.server.connections_count += 1
        self.server.transports.add(transport)

    def connection_lost(self, error):
        self.server.transports.discard(self.transport)
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data):
        self.buffer += data
        head, blank, rest = self.buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        self.server.heads.append(head)
        self.server.bodies.append(rest[:length])
        self.task = asyncio.get_running_loop().create_task(self.play(self.server.script(head, rest[:length])))

    async def play(self, steps):
        for step in steps:
            if isinstance(step, bytes):
                self.transport.write(step)
                if self.server.pause_s is not None:
                    await asyncio.sleep(self.server.pause_s)
            elif isinstance(step, int | float):
                await asyncio.sleep(step)
            elif step == RESET:
                broken(self.transport)
            elif step == EOF:
                self.transport.close()
            else:
                await asyncio.sleep(3600)


def broken(transport):
    """End a connection with a reset, whatever is still in its buffers."""
    sock = transport.get_extra_info("socket")
    with socket.socket(fileno=socket.dup(sock.fileno())) as copy:
        copy.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class Odd:
    """One scripted server. ``script`` is a list of steps, or a function that makes one for each request."""

    def __init__(self, script, pause_s=None):
        self.script = script if callable(script) else lambda head, body: script
        self.pause_s = pause_s
        self.heads, self.bodies, self.transports = [], [], set()
        self.connections_count = 0
        self.port = 0


@asynccontextmanager
async def serving(script, *, pause_s=None, tls=None):
    odd = Odd(script, pause_s)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Scripted(odd), "127.0.0.1", 0, ssl=tls)
    odd.port = server.sockets[0].getsockname()[1]
    try:
        yield odd
    finally:
        server.close()
        for transport in list(odd.transports):
            transport.abort()
        await asyncio.sleep(0.002)
