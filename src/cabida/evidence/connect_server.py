"""A store that a team shares: PostgreSQL by address, its connections, its limits and what it says when it can't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, EndpointFailed, InvalidInput
from cabida.evidence.place import Address
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_S = 10
WAIT_MS = 20_000  # for another that writes the same
STATEMENT_MS = 60_000
POOL_COUNT = 8  # connections kept open by a process, and as many more while it is busy
POOL_WAIT_S = 20
RECYCLE_S = 1_800
UPGRADE = 0x0CAB1DA0  # key of the lock that who upgrades holds; those of topics lie beside it
UNREACHABLE = ("08", "57P", "53300")  # classes of SQLSTATE: connection, shutdown, too many
STATES = (  # beginning of an SQLSTATE, and the problem it is
    ("28", "CB-E022"),
    ("3D000", "CB-E023"),
    ("55P03", "CB-E010"),
    ("40", "CB-E010"),
    ("57014", "CB-E026"),
    ("22021", "CB-E027"),
    ("22P05", "CB-E027"),
    ("42501", "CB-E028"),
    ("25006", "CB-E028"),
    ("53100", "CB-E015"),
    ("53", "CB-E018"),
    ("58", "CB-E018"),
)
AWAY = (
    "starting up",
    "shutting down",
    "recovery mode",
    "not yet accepting",
    "too many clients",
    "connection slots",
)
WORDS = (  # of libpq before there is a session, which has no SQLSTATE then
    ("password", "CB-E022"),
    ("authentication", "CB-E022"),
    ("pg_hba", "CB-E022"),
    ("role", "CB-E022"),
    ("database", "CB-E023"),
)


def engine(address: Address) -> Engine:
    """The engine of an address: a small pool, UTF-8, nothing prepared (a pooler may stand between).

    Raises:
        InvalidInput: CB-E024, psycopg isn't installed; CB-E029, the address can't be read.
    """
    from sqlalchemy import create_engine

    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise InvalidInput([problem("CB-E024", file=str(address))]) from None
    try:
        said: dict[str, Any] = {**conninfo_to_dict(address.url)}
    except psycopg.Error as error:
        raise InvalidInput([problem("CB-E029", file=str(address), why=_why(address, error))]) from None
    more: dict[str, Any] = {"connect_timeout": CONNECT_S, "application_name": "cabida"} | said

    def connect() -> Any:
        opened = psycopg.connect(**(more | {"client_encoding": "UTF8"}), prepare_threshold=None)
        found = opened.info.parameter_status("server_encoding")
        if found != "UTF8":
            opened.close()
            raise InvalidInput([problem("CB-E025", file=str(address), found=found)])
        return opened

    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        pool_size=POOL_COUNT,
        max_overflow=POOL_COUNT,
        pool_timeout=POOL_WAIT_S,
        pool_recycle=RECYCLE_S,
        pool_pre_ping=True,
    )


def limit(connection: Connection, *, reading: bool) -> None:
    """Say at the beginning of a transaction what it may do and how long it may wait."""
    only = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; " if reading else ""
    connection.exec_driver_sql(
        f"{only}SET LOCAL statement_timeout = {STATEMENT_MS}; SET LOCAL lock_timeout = {WAIT_MS}"
    )


def alone_while_upgrading(connection: Connection) -> None:
    """Wait for another that upgrades; an upgrade itself may take its time."""
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({UPGRADE})")


def refusal(address: Address, error: BaseException) -> CabidaError:
    """The problem behind what psycopg raises; its words never hold the password."""
    state, why = str(getattr(error, "sqlstate", None) or ""), _why(address, error)
    code = next((code for begin, code in STATES if state.startswith(begin)), "")
    if not state:
        low = str(error).lower()
        if "invalid integer value" in low or "invalid value for" in low or "invalid uri" in low:
            code = "CB-E029"
        elif ("nul" in low and "0x00" in low) or isinstance(error, UnicodeError):
            code = "CB-E027"
        elif "fatal" in low and not any(word in low for word in AWAY):  # which name the database too
            code = next((code for word, code in WORDS if word in low), "")
        elif "no password supplied" in low:
            code = "CB-E022"
    if not code and (not state or state.startswith(UNREACHABLE)):
        return EndpointFailed([problem("CB-E021", file=str(address), why=why)])
    return InvalidInput([problem(code or "CB-E012", file=str(address), why=why)])


def _why(address: Address, error: BaseException) -> str:
    """The first line of what was said, without anything of the address that may be secret."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    before = address.url.removeprefix("postgresql://").rpartition("@")[0]
    password = before.partition(":")[2]
    return said.replace(password, "...") if password else said
