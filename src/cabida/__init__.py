"""Cabida: from a workload brief to a ranked, explained, dated decision about GPUs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> where it lives; loaded when first used, so that importing cabida costs nothing
_PUBLIC = {
    "Brief": "cabida.brief",
    "CabidaError": "cabida.errors",
    "Decision": "cabida.plan",
    "Quantity": "cabida.quantity",
    "api_prices": "cabida.app",
    "ask": "cabida.app",
    "bench_export": "cabida.app",
    "bench_normalised": "cabida.app",
    "bench_plan": "cabida.app",
    "bench_report": "cabida.app",
    "bench_run": "cabida.app",
    "bench_selftest": "cabida.app",
    "bench_write": "cabida.app",
    "briefs": "cabida.app",
    "check": "cabida.app",
    "check_pc": "cabida.checks",
    "check_rack": "cabida.checks",
    "check_software": "cabida.checks",
    "compare": "cabida.app",
    "calibrate": "cabida.app",
    "calibration": "cabida.app",
    "cost": "cabida.app",
    "decisions": "cabida.app",
    "diff": "cabida.app",
    "explain": "cabida.app",
    "fit": "cabida.app",
    "here": "cabida.app",
    "hold": "cabida.app",
    "import_prices": "cabida.app",
    "init": "cabida.app",
    "keep_brief": "cabida.app",
    "keep_decision": "cabida.app",
    "levers": "cabida.app",
    "launch_files": "cabida.app",
    "load_brief": "cabida.app",
    "load_decision": "cabida.app",
    "mix": "cabida.app",
    "models": "cabida.app",
    "observations": "cabida.app",
    "observe": "cabida.app",
    "exchange_rates": "cabida.app",
    "frame": "cabida.faces.notebook",
    "price": "cabida.app",
    "price_history": "cabida.app",
    "own": "cabida.app",
    "prices": "cabida.app",
    "prices_aside": "cabida.app",
    "quote_add": "cabida.app",
    "quote_annex": "cabida.app",
    "quote_audit": "cabida.app",
    "quote_compare": "cabida.app",
    "quote_letter": "cabida.app",
    "quote_offer": "cabida.app",
    "quote_read": "cabida.app",
    "quote_template": "cabida.app",
    "quotes": "cabida.app",
    "recommend": "cabida.app",
    "record": "cabida.app",
    "records": "cabida.faces.notebook",
    "rerun": "cabida.app",
    "speed": "cabida.app",
    "store_backup": "cabida.app",
    "store_export": "cabida.app",
    "store_import": "cabida.app",
    "store_restore": "cabida.app",
    "track": "cabida.app",
    "traffic": "cabida.app",
    "validate": "cabida.app",
    "what_if": "cabida.app",
}
_PLAIN = frozenset(  # whose answer is plain data, which a notebook shows as a table
    (
        "api_prices", "bench_normalised", "bench_plan", "bench_report", "bench_run", "calibrate", "calibration",
        "compare", "cost", "exchange_rates", "explain", "fit", "here", "hold", "import_prices", "mix", "models",
        "observations", "observe", "own", "price_history", "prices", "prices_aside", "speed", "store_backup",
        "store_export", "store_import", "store_restore", "track", "traffic", "validate",
    )
)  # fmt: skip
__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        message = f"module 'cabida' has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(_PUBLIC[name]), name)
    return import_module("cabida.faces.notebook").calling(found) if name in _PLAIN else found


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


def _show_in_notebooks() -> None:
    """Where IPython runs, tell it by name what shows a decision; nothing is imported until one is shown."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None and getattr(shell, "display_formatter", None) is not None:
        import_module("cabida.faces.notebook").register(shell.display_formatter.formatters)


_show_in_notebooks()
