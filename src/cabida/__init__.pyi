"""Cabida: from a workload brief to a ranked, explained, dated decision about GPUs.

Written by ``python -m cabida.faces.stub``; the names live where they are imported from.
"""

from cabida.app import api_prices as api_prices
from cabida.app import ask as ask
from cabida.app import bench_export as bench_export
from cabida.app import bench_normalised as bench_normalised
from cabida.app import bench_plan as bench_plan
from cabida.app import bench_report as bench_report
from cabida.app import bench_run as bench_run
from cabida.app import bench_selftest as bench_selftest
from cabida.app import bench_write as bench_write
from cabida.app import briefs as briefs
from cabida.app import calibrate as calibrate
from cabida.app import calibration as calibration
from cabida.app import check as check
from cabida.app import compare as compare
from cabida.app import cost as cost
from cabida.app import decisions as decisions
from cabida.app import diff as diff
from cabida.app import exchange_rates as exchange_rates
from cabida.app import explain as explain
from cabida.app import fit as fit
from cabida.app import here as here
from cabida.app import hold as hold
from cabida.app import import_prices as import_prices
from cabida.app import init as init
from cabida.app import keep_brief as keep_brief
from cabida.app import keep_decision as keep_decision
from cabida.app import launch_files as launch_files
from cabida.app import levers as levers
from cabida.app import load_brief as load_brief
from cabida.app import load_decision as load_decision
from cabida.app import mix as mix
from cabida.app import models as models
from cabida.app import observations as observations
from cabida.app import observe as observe
from cabida.app import own as own
from cabida.app import price as price
from cabida.app import price_history as price_history
from cabida.app import prices as prices
from cabida.app import prices_aside as prices_aside
from cabida.app import quote_add as quote_add
from cabida.app import quote_annex as quote_annex
from cabida.app import quote_audit as quote_audit
from cabida.app import quote_compare as quote_compare
from cabida.app import quote_letter as quote_letter
from cabida.app import quote_offer as quote_offer
from cabida.app import quote_read as quote_read
from cabida.app import quote_template as quote_template
from cabida.app import quotes as quotes
from cabida.app import recommend as recommend
from cabida.app import record as record
from cabida.app import rerun as rerun
from cabida.app import speed as speed
from cabida.app import store_backup as store_backup
from cabida.app import store_export as store_export
from cabida.app import store_import as store_import
from cabida.app import store_restore as store_restore
from cabida.app import track as track
from cabida.app import traffic as traffic
from cabida.app import validate as validate
from cabida.app import what_if as what_if
from cabida.brief import Brief as Brief
from cabida.checks import check_pc as check_pc
from cabida.checks import check_rack as check_rack
from cabida.checks import check_software as check_software
from cabida.errors import CabidaError as CabidaError
from cabida.faces.notebook import frame as frame
from cabida.faces.notebook import records as records
from cabida.plan import Decision as Decision
from cabida.quantity import Quantity as Quantity

__version__: str
__all__ = [
    "Brief",
    "CabidaError",
    "Decision",
    "Quantity",
    "__version__",
    "api_prices",
    "ask",
    "bench_export",
    "bench_normalised",
    "bench_plan",
    "bench_report",
    "bench_run",
    "bench_selftest",
    "bench_write",
    "briefs",
    "calibrate",
    "calibration",
    "check",
    "check_pc",
    "check_rack",
    "check_software",
    "compare",
    "cost",
    "decisions",
    "diff",
    "exchange_rates",
    "explain",
    "fit",
    "frame",
    "here",
    "hold",
    "import_prices",
    "init",
    "keep_brief",
    "keep_decision",
    "launch_files",
    "levers",
    "load_brief",
    "load_decision",
    "mix",
    "models",
    "observations",
    "observe",
    "own",
    "price",
    "price_history",
    "prices",
    "prices_aside",
    "quote_add",
    "quote_annex",
    "quote_audit",
    "quote_compare",
    "quote_letter",
    "quote_offer",
    "quote_read",
    "quote_template",
    "quotes",
    "recommend",
    "record",
    "records",
    "rerun",
    "speed",
    "store_backup",
    "store_export",
    "store_import",
    "store_restore",
    "track",
    "traffic",
    "validate",
    "what_if",
]
