"""Sockets of the calibrated server: many connections under one epoll, written to without ever waiting."""

from __future__ import annotations

import select
import socket

from cabida.bench.selfcheck.answering import MOST_UNSENT_BYTES, Answering, Connection
from cabida.bench.selfcheck.reading import MOST_BODY_BYTES, MOST_HEAD_BYTES


class Sockets:
    """Who is connected. What is read is told to ``take_up``, who went during an answer to ``left``."""

    def __init__(self, host: str, port: int) -> None:
        self.listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=4096
        )
        self.listening.setblocking(False)
        self.port: int = self.listening.getsockname()[1]
        self.epoll = select.epoll()
        self.epoll.register(self.listening, select.EPOLLIN)
        self.connections: dict[int, Connection] = {}

    def take_up(self, conn: Connection) -> None:
        """Bytes came in while nothing is being answered."""
        raise NotImplementedError

    def left(self, one: Answering) -> None:
        """The connection of an answer under way is gone."""
        raise NotImplementedError

    def serve_sockets(self) -> None:
        """Read and write wherever that is possible at once."""
        for fd, what in self.epoll.poll(0):
            if (conn := self.connections.get(fd)) is None:
                self.accept()
                continue
            if what & select.EPOLLOUT:
                self.write_rest(conn)
            if what & ~select.EPOLLOUT and conn.fd in self.connections:
                self.read(conn)

    def accept(self) -> None:
        """Take in who waits at the door."""
        while True:
            try:
                sock, _ = self.listening.accept()
            except OSError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conn = Connection(sock)
            self.connections[conn.fd] = conn
            self.epoll.register(conn.fd, select.EPOLLIN)

    def read(self, conn: Connection) -> None:
        """What came in; a request that is whole is taken up."""
        try:
            data = conn.read.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close(conn)
            return
        conn.pending += data
        if len(conn.pending) > MOST_HEAD_BYTES + MOST_BODY_BYTES:
            self.close(conn)
        elif conn.answering is None:
            self.take_up(conn)

    def send(self, conn: Connection, data: bytes) -> None:
        """Write, or keep what the socket doesn't take yet."""
        if conn.fd not in self.connections:
            return
        sent = 0
        if not conn.out:
            try:
                sent = conn.read.send(data)
            except BlockingIOError:
                pass
            except OSError:
                self.close(conn)
                return
            if sent == len(data):
                return
            self.epoll.modify(conn.fd, select.EPOLLIN | select.EPOLLOUT)
        conn.out += data[sent:]
        if len(conn.out) > MOST_UNSENT_BYTES:
            self.close(conn)

    def write_rest(self, conn: Connection) -> None:
        """The socket takes more."""
        try:
            del conn.out[: conn.read.send(conn.out)]
        except BlockingIOError:
            return
        except OSError:
            self.close(conn)
            return
        if not conn.out:
            self.epoll.modify(conn.fd, select.EPOLLIN)

    def close(self, conn: Connection) -> None:
        """Hang up; an answer under way is logged as left by its client."""
        if self.connections.pop(conn.fd, None) is None:
            return
        if conn.out:  # a refusal that the socket has no room for is lost, as it would be
            conn.out.clear()
        self.epoll.unregister(conn.fd)
        conn.read.close()
        one, conn.answering = conn.answering, None
        if one is not None and one.conn is not None:
            self.left(one)
