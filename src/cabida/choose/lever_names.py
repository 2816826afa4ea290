"""Which inputs of a bill may be moved after the search, and why the others may not.

A bill's inputs are classed by name. What is in ``FREE`` is read by bills alone: prices, salaries, shares of a month
that no simulation, search or limit looked at. Everything else was looked at before the bill was made, so another value
would need another search.
"""

from __future__ import annotations

# how far a lever may be moved, by kind; see ``levers.bounds``
PRICE, MONEY, STAFF, SHARE, NEAR, WIDE, YEARS, PUE = (
    "price", "money", "staff", "share", "near", "wide", "years", "pue",
)  # fmt: skip

FREE: dict[str, str] = {
    # what a seller asks
    "price_money_per_hour": PRICE, "price_money": PRICE, "held_price_money": PRICE, "on_demand_money_per_hour": PRICE,
    "input_money_per_mtok": PRICE, "output_money_per_mtok": PRICE, "reasoning_money_per_mtok": PRICE,
    "cache_read_money_per_mtok": PRICE, "cache_write_money_per_mtok": PRICE, "fee_money_per_request": PRICE,
    # what is paid beside it
    "host_money_per_hour": PRICE, "serverless_host_money_per_hour": PRICE, "exchange_ratio": NEAR,
    "storage_money_per_gb_per_month": MONEY, "egress_money_per_gb": MONEY, "electricity_money_per_kwh": MONEY,
    "colocation_money_per_kw_per_month": MONEY, "licence_money_per_year": MONEY, "loaded_money_per_year": MONEY,
    "desktop_capital_money": MONEY, "serving_stack_money_per_month": MONEY, "api_gateway_money_per_month": MONEY,
    "desktop_serving_stack_money_per_month": MONEY, "observability_node_money_per_month": MONEY,
    "desktop_observability_node_money_per_month": MONEY, "storage_money_per_month": MONEY,
    "network_money_per_month": MONEY, "observability_money_per_month": MONEY, "platform_labour_money_per_month": MONEY,
    "instalment_money_per_month": MONEY, "left_credit_money": MONEY, "committed_money_per_month": MONEY,
    "review_money_per_output": MONEY, "moderation_money_per_request": MONEY,
    # people
    "rent_staff_count": STAFF, "own_staff_count": STAFF, "desktop_staff_count": STAFF, "api_staff_count": STAFF,
    "node_staff_count": STAFF, "rent_node_staff_count": STAFF, "training_staff_count": STAFF,
    # shares and rates of a bill
    "acceptance_ratio": SHARE, "model_acceptance_ratio": SHARE, "discount_ratio": SHARE, "decay_ratio": SHARE,
    "reserved_6_discount_ratio": SHARE, "reserved_12_discount_ratio": SHARE, "reserved_36_discount_ratio": SHARE,
    "spot_price_ratio": SHARE, "wacc_ratio": SHARE, "support_ratio_per_year": SHARE, "spares_ratio_per_year": SHARE,
    "desktop_support_ratio_per_year": SHARE, "api_batch_hit_ratio": SHARE, "api_failed_charged_ratio": SHARE,
    "spot_unavailable_ratio": SHARE, "busy_power_ratio": SHARE, "idle_power_ratio": SHARE,
    "server_capital_ratio": NEAR, "network_capital_ratio": NEAR, "intensity_g_per_kwh": WIDE, "market_g_per_kwh": WIDE,
    "between_interruptions_hours": WIDE, "market_between_interruptions_hours": WIDE, "restart_s": WIDE,
    "interrupted_0_5_between_interruptions_hours": WIDE, "interrupted_5_10_between_interruptions_hours": WIDE,
    "interrupted_10_15_between_interruptions_hours": WIDE, "interrupted_15_20_between_interruptions_hours": WIDE,
    "interrupted_20_100_between_interruptions_hours": WIDE, "ttl_s": WIDE,
    "life_years": YEARS, "pue_ratio": PUE, "desktop_pue_ratio": PUE,
}  # fmt: skip

# prices of one offer: each option has its own
OF_AN_OPTION = frozenset(
    {
        "price_money_per_hour", "price_money", "held_price_money", "on_demand_money_per_hour", "input_money_per_mtok",
        "output_money_per_mtok", "reasoning_money_per_mtok", "cache_read_money_per_mtok",
        "cache_write_money_per_mtok", "fee_money_per_request",
    }
)  # fmt: skip

# of a run on spot these also say when it ends, and a run that ends too late is no option
SPOT = frozenset(
    {
        "spot_unavailable_ratio", "between_interruptions_hours", "market_between_interruptions_hours", "restart_s",
        "interrupted_0_5_between_interruptions_hours", "interrupted_5_10_between_interruptions_hours",
        "interrupted_10_15_between_interruptions_hours", "interrupted_15_20_between_interruptions_hours",
        "interrupted_20_100_between_interruptions_hours",
    }
)  # fmt: skip

# locked, by reason (text choose.lever.why.REASON)
LOCKED: dict[str, frozenset[str]] = {
    "load": frozenset(
        {
            "requests_per_month", "attempted_requests_per_month", "attempted_requests_per_s", "requests_per_s",
            "attempts_ratio", "failure_ratio", "failed_ratio", "tries_count", "input_tokens", "output_tokens",
            "reasoning_tokens", "prefix_tokens", "cache_hit_ratio", "window_ratio", "above_ratio", "round_hours",
            "ingested_tokens_per_month", "runs_count", "evaluated_runs_per_month", "accepted_outputs_per_month",
        }
    ),
    "simulated": frozenset(
        {
            "utilisation_ratio", "active_hours_per_month", "on_hours_per_month", "open_hours", "open_hours_per_month",
            "needed_replicas_count", "replica_requests_per_s", "starts_count", "start_up_hours", "goodput_ratio",
            "ideal_hours", "used_hours", "work_hours", "wall_s", "run_months", "month_share_ratio", "time_share_ratio",
            "redone_s", "judging_hours_per_month", "ingested_tokens_per_s", "held_utilisation_ratio",
        }
    ),
    "plan": frozenset(
        {
            "accelerators_count", "held_accelerators_count", "serving_accelerators_count", "spare_accelerators_count",
            "replicas_count", "spare_ratio", "nodes_count", "machines_count", "hosts_count", "held_count",
            "room_count", "desktop_room_count", "reserved_kw", "committed_hours",
        }
    ),
    "machine": frozenset(
        {"rated_power_w", "busy_power_w", "idle_power_w", "host_power_ratio", "desktop_host_power_ratio"}
    ),
    "size": frozenset({"stored_gb", "egress_gb", "egress_gb_per_month", "write_s"}),
    "time": frozenset(
        {
            "hours_per_month", "held_months", "horizon_months", "usable_months", "failed_run_ratio",
            "block_step_hours", "block_short_hours", "block_long_step_hours",
        }
    ),
    "absent": frozenset({"held_money_per_month", "judging_money_per_month", "ingestion_money_per_month"}),
}  # fmt: skip
