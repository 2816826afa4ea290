"""What it costs: owning, renting, committing, an API; per accepted output, with every term and its source."""

from cabida.money.assumptions import Range
from cabida.money.bills.service_api import api_cached, api_cost, api_tree
from cabida.money.bills.serving import attempted_requests, cost_tree, serving_cost, unit_money
from cabida.money.bills.training import stretch_ratio, training_cost, training_tree, training_use
from cabida.money.currency import Rate
from cabida.money.hold.paths import Route, replicas_by_hour, routes
from cabida.money.prices.offers import offers_for
from cabida.money.prices.tenure import Tenure, price_flags, price_warnings, tenure_of
from cabida.money.terms import Cost, Terms, TrainingUse, Usage, terms
from cabida.money.ways import Plain

__all__ = [
    "Cost",
    "Plain",
    "Range",
    "Rate",
    "Route",
    "Tenure",
    "Terms",
    "TrainingUse",
    "Usage",
    "api_cached",
    "api_cost",
    "api_tree",
    "attempted_requests",
    "cost_tree",
    "offers_for",
    "price_flags",
    "price_warnings",
    "replicas_by_hour",
    "routes",
    "serving_cost",
    "stretch_ratio",
    "tenure_of",
    "terms",
    "training_cost",
    "training_tree",
    "training_use",
    "unit_money",
]
