"""The guide's denominators: cost of what is accepted, not of what is generated.

Each term of a bill has a formula of its own, so that its line can be explained. Monthly terms serve
inference (B6); terms of one run serve training (B5).
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, most, total
from cabida.units import S_PER_HOUR, TOKENS_PER_MTOK


@formula
def attempts_ratio(failure_ratio: float, acceptance_ratio: float, tries_count: float) -> Any:
    """Attempts per thing asked for: failures are repeated until they pass, rejects up to ``tries_count`` tries. E13."""
    rejected_ratio = (1 - acceptance_ratio) ** tries_count
    return (1 - rejected_ratio) / acceptance_ratio / (1 - failure_ratio)


@formula
def coverage_ratio(acceptance_ratio: float, tries_count: float) -> Any:
    """Share of what was asked for that ends accepted. A unit cost without it hides what was given up. E13."""
    return 1 - (1 - acceptance_ratio) ** tries_count


@formula
def unrepeated_acceptance_ratio(failure_ratio: float, acceptance_ratio: float) -> float:
    """Chance that one attempt ends accepted when failures are not repeated."""
    return (1 - failure_ratio) * acceptance_ratio


@formula
def accepted_money_per_output(
    attempt_money_per_output: float, attempts_ratio: float, coverage_ratio: float
) -> float:
    """Cost of one accepted output from the cost of one attempt. E13, E24: retries of equal price leave it alone."""
    return attempt_money_per_output * attempts_ratio / coverage_ratio


@formula
def accepted_money_per_mtok(
    generated_money_per_mtok: float, failure_ratio: float, acceptance_ratio: float
) -> float:
    """Cost per million accepted tokens from the cost per million generated ones. Worked example E14."""
    return generated_money_per_mtok / ((1 - failure_ratio) * acceptance_ratio)


@formula
def generated_money_per_mtok(
    price_money_per_hour: float,
    accelerators_count: float,
    output_tokens_per_s: float,
    utilisation_ratio: float,
) -> float:
    """Cost per million generated tokens from a price, a speed and the share of it in use. Worked example E12."""
    tokens_per_hour = output_tokens_per_s * S_PER_HOUR * utilisation_ratio
    return price_money_per_hour * accelerators_count * TOKENS_PER_MTOK / tokens_per_hour


@formula
def attempted_requests_per_month(requests_per_month: float, attempts_ratio: float) -> float:
    """Attempts the service has to run in a month."""
    return requests_per_month * attempts_ratio


@formula
def accepted_outputs_per_month(requests_per_month: float, coverage_ratio: float) -> float:
    """Outputs accepted in a month."""
    return requests_per_month * coverage_ratio


@formula
def accepted_share_ratio(coverage_ratio: float, attempts_ratio: float) -> float:
    """Share of attempts that ended as an accepted output."""
    return coverage_ratio / attempts_ratio


@formula
def held_money_per_month(
    price_money_per_hour: float, accelerators_count: float, active_hours_per_month: float
) -> float:
    """Bill for accelerators that are held: price times how many times the hours they are on."""
    return price_money_per_hour * accelerators_count * active_hours_per_month


@formula
def working_money_per_month(
    held_money_per_month: float, spare_ratio: float, utilisation_ratio: float, accepted_share_ratio: float
) -> float:
    """Part of the bill that produced accepted outputs: line "compute"."""
    return held_money_per_month * (1 - spare_ratio) * utilisation_ratio * accepted_share_ratio


@formula
def wasted_money_per_month(
    held_money_per_month: float, spare_ratio: float, utilisation_ratio: float, accepted_share_ratio: float
) -> float:
    """Part of the bill that produced failures and rejects: line "retries_waste"."""
    return held_money_per_month * (1 - spare_ratio) * utilisation_ratio * (1 - accepted_share_ratio)


@formula
def idle_money_per_month(held_money_per_month: float, spare_ratio: float, utilisation_ratio: float) -> float:
    """Part of the bill that waited for work: line "idle"."""
    return held_money_per_month * (1 - spare_ratio) * (1 - utilisation_ratio)


@formula
def spare_money_per_month(held_money_per_month: float, spare_ratio: float) -> float:
    """Part of the bill held against breakdowns: line "spares"."""
    return held_money_per_month * spare_ratio


@formula
def storage_money_per_month(stored_gb: float, storage_money_per_gb_per_month: float) -> float:
    """Weights, data and logs kept on disk: line "storage"."""
    return stored_gb * storage_money_per_gb_per_month


@formula
def egress_money_per_month(egress_gb_per_month: float, egress_money_per_gb: float) -> float:
    """Data that leaves the provider: line "network"."""
    return egress_gb_per_month * egress_money_per_gb


@formula
def observability_money_per_month(nodes_count: float, observability_node_money_per_month: float) -> float:
    """Metrics, logs and traces, per machine watched: line "observability"."""
    return nodes_count * observability_node_money_per_month


@formula
def review_money_per_month(accepted_outputs_per_month: float, review_money_per_output: float) -> float:
    """People looking at outputs: line "review"."""
    return accepted_outputs_per_month * review_money_per_output


@formula
def accepted_unit_money_per_output(total_money_per_month: float, accepted_outputs_per_month: float) -> float:
    """The guide's unit cost (B4, B6): everything paid in a month over what was accepted in it."""
    return total_money_per_month / accepted_outputs_per_month


@formula
def occupied_hours(ideal_hours: float, goodput_ratio: float) -> float:
    """Accelerator-hours paid for an ideal amount of work. Worked example E18."""
    return ideal_hours / goodput_ratio


@formula
def run_compute_money(ideal_hours: float, price_money_per_hour: float) -> float:
    """Accelerator-hours that advance the run: line "compute"."""
    return ideal_hours * price_money_per_hour


@formula
def run_failed_money(
    ideal_hours: float, goodput_ratio: float, failed_run_ratio: float, price_money_per_hour: float
) -> float:
    """Hours lost to breakdowns and restarts, and whole runs that came to nothing: line "failed_runs"."""
    paid_hours = ideal_hours / goodput_ratio / (1 - failed_run_ratio)
    return (paid_hours - ideal_hours) * price_money_per_hour


@formula
def occupied_months(run_months: float, failed_run_ratio: float) -> float:
    """How long one completed run takes with those that came to nothing before it: people and disks wait for it."""
    return run_months / (1 - failed_run_ratio)


@formula
def kept_money(stored_gb: float, storage_money_per_gb_per_month: float, kept_months: float) -> float:
    """Storage of a data set or of checkpoints while runs last, failed ones too: lines "storage" and "checkpoints"."""
    return stored_gb * storage_money_per_gb_per_month * kept_months


@formula
def egress_money(egress_gb: float, egress_money_per_gb: float) -> float:
    """Data taken out of the provider once: line "network"."""
    return egress_gb * egress_money_per_gb


@formula
def run_share_money(monthly_money_per_month: float, month_share_ratio: float, held_months: float) -> float:
    """Share of an owned machine's monthly cost that falls on one run."""
    return monthly_money_per_month * month_share_ratio * held_months


@formula
def run_labour_money(staff_money_per_month: float, occupied_months: float) -> float:
    """People on the run, and on those that came to nothing: line "platform_labour"."""
    return staff_money_per_month * occupied_months


@formula
def accepted_model_money(run_money: float, model_acceptance_ratio: float) -> float:
    """Cost of one model good enough to ship, when only a share of completed runs is."""
    return run_money / model_acceptance_ratio


@formula
def idle_commitment_money(
    price_money_per_hour: float, accelerators_count: float, committed_hours: float, used_hours: float
) -> Any:
    """Committed accelerator-hours that nothing used: line "idle" of a run on reserved or bought capacity."""
    free_hours = most(committed_hours * accelerators_count - used_hours, 0)
    return price_money_per_hour * free_hours


@formula
def total_money_per_month(
    compute_money_per_month: float,
    idle_money_per_month: float,
    retries_waste_money_per_month: float,
    spares_money_per_month: float,
    residual_money_per_month: float,
    energy_money_per_month: float,
    cooling_money_per_month: float,
    colocation_money_per_month: float,
    support_money_per_month: float,
    licences_money_per_month: float,
    storage_money_per_month: float,
    network_money_per_month: float,
    serving_stack_money_per_month: float,
    observability_money_per_month: float,
    platform_labour_money_per_month: float,
    review_money_per_month: float,
) -> Any:
    """All-in cost of a month of service, every term of B6."""
    return total(
        compute_money_per_month,
        idle_money_per_month,
        retries_waste_money_per_month,
        spares_money_per_month,
        residual_money_per_month,
        energy_money_per_month,
        cooling_money_per_month,
        colocation_money_per_month,
        support_money_per_month,
        licences_money_per_month,
        storage_money_per_month,
        network_money_per_month,
        serving_stack_money_per_month,
        observability_money_per_month,
        platform_labour_money_per_month,
        review_money_per_month,
    )


@formula
def total_run_money(
    compute_money: float,
    failed_runs_money: float,
    idle_money: float,
    residual_money: float,
    energy_money: float,
    cooling_money: float,
    support_money: float,
    licences_money: float,
    storage_money: float,
    checkpoints_money: float,
    network_money: float,
    platform_labour_money: float,
) -> Any:
    """All-in cost of one completed run, every term of B5."""
    return total(
        compute_money,
        failed_runs_money,
        idle_money,
        residual_money,
        energy_money,
        cooling_money,
        support_money,
        licences_money,
        storage_money,
        checkpoints_money,
        network_money,
        platform_labour_money,
    )


@formula
def interrupted_total_money_per_month(
    total_money_per_month: float, interruptions_money_per_month: float
) -> float:
    """A month of service on spot: the bill, and what interruptions add to it."""
    return total_money_per_month + interruptions_money_per_month
