"""What a server is told when it starts."""

from __future__ import annotations

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

    @property
    def open_to_loopback_only(self) -> bool:
        """Whether nobody but this machine reaches the server, so that nobody needs a token."""
        return self.host in LOOPBACK and not self.behind
