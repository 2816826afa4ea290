"""What a server is told when it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server behaves; what is left out suits one person on one machine."""

    store: str = ""  # a file or a PostgreSQL URL; "" = CABIDA_STORE, else the user's own file
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 0  # processes that decide and measure; 0 = one for each core
    private_addresses: bool = (
        False  # whether benchmarks may reach private addresses although the server is public
    )
    most_upload_bytes: int = 8 * 2**20
    requests_per_minute: int = 600  # of one person or address
    behind: str = (
        ""  # the address people type, where a proxy stands before the server: https://cabida.example.org
    )
    proxies: str = (
        "127.0.0.1,::1"  # addresses or networks whose word on who asks is believed, with ``behind``
    )
    jobs_here: bool = (
        False  # jobs in a thread of this process: for tests and notebooks, nothing can be cancelled
    )
    warm: bool = True  # whether a new worker decides an example for itself before it takes a job
    most_waiting: int = 64  # jobs that may wait
    most_waiting_each: int = 16  # of them, those of one person
    worker_bytes: int = 4 * 2**30  # most memory of a worker's own
    recycle_bytes: int = 2**30  # a worker that grew beyond this is replaced after its job
    body_s: float = 30.0  # a request's body must be there by then, and by the second for each 64 KiB of it
    head_s: float = 10.0  # its headers must be there by then
    session_s: float = 12 * 3600.0  # how long somebody who logged in stays so
    stop_s: float = 10.0  # what is being worked out may take so long to end when the server is told to stop

    @property
    def open_to_loopback_only(self) -> bool:
        """Whether nobody but this machine reaches the server, so that nobody needs a token."""
        return self.host in LOOPBACK and not self.behind

    @property
    def workers_count(self) -> int:
        """Processes that decide, at least one."""
        return self.workers or max(1, os.cpu_count() or 1)

    @property
    def https(self) -> bool:
        """Whether people reach the server encrypted."""
        return self.behind.startswith("https://")
