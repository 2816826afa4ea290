"""A vendor's quote as a noun: everything it can say, ``None`` where it says nothing, and where each thing was read.

Nothing here judges: what is missing, contradicts itself or is dear is told by ``procure``. Amounts are decimals with
their own currency, since a quote may mix them. Field by field the table is ``cabida.evidence.quotes.fields.FIELDS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cabida.evidence.quotes.fields import BY_NAME as BY_NAME
from cabida.evidence.quotes.fields import FIELDS as FIELDS
from cabida.evidence.quotes.fields import Field as Field

GRADES = ("stated", "labelled", "sentence")  # a form's own field; a labelled line of prose; a sentence of it


@dataclass(frozen=True, slots=True)
class Amount:
    """Money as a quote writes it; ``currency`` is "" where neither the amount nor the quote names one."""

    value: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Credit:
    """One step of a ladder of service credits: below this uptime so much of the month's fee is paid back."""

    below_ratio: float
    credit_ratio: float


@dataclass(frozen=True, slots=True)
class QuoteItem:
    """One line of the quote. ``place`` is where it was read (``quote.yaml:12``)."""

    what: str
    unit: str | None = None
    quantity: Decimal | None = None
    unit_price: Amount | None = None
    total: Amount | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a field was read, in which words, and how surely (one of ``GRADES``).

    ``place`` is ``file:line``, ``sheet!cell`` or ``page N, line M``.
    """

    field: str
    place: str
    words: str
    grade: str = "stated"


@dataclass(frozen=True, slots=True)
class Left:
    """What nobody understood of the file, or understood and didn't take: place, words, and why as a sentence."""

    place: str
    words: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """What a vendor offers, as he says it. ``None`` is unknown, never zero; ratios are parts of one.

    Args:
        items: lines with quantity, unit price and total, in their order.
        seen: where each field that is not ``None`` was read.
        left: lines that weren't understood, for a person to look at.
        form: ``yaml``, ``csv``, ``xlsx``, ``text`` or ``pdf``.
        file: its name without folders; ``sha256`` is its digest.
    """

    # identity
    quote_id: str | None = None
    vendor: str | None = None
    vendor_legal_entity: str | None = None
    purpose: str | None = None
    issued: str | None = None
    expires: str | None = None
    currency: str | None = None
    tax_treatment: str | None = None
    tax_ratio: float | None = None
    fx_clause: str | None = None
    price_adjustment_clause: str | None = None
    price_adjustment_limit_ratio_per_year: float | None = None
    incoterms: str | None = None
    import_duty_included: bool | None = None
    lead_time_days: float | None = None
    delivery_date: str | None = None
    delay_penalty: str | None = None
    # hardware
    accelerator: str | None = None
    accelerator_sku: str | None = None
    form_factor: str | None = None
    condition: str | None = None
    accelerators_count: int | None = None
    accelerators_per_node_count: int | None = None
    nodes_count: int | None = None
    accelerator_memory_gb: float | None = None
    accelerator_memory_usable_gib: float | None = None
    memory_bandwidth_gb_per_s: float | None = None
    tflops: float | None = None
    tflops_precision: str | None = None
    tflops_sparse: bool | None = None
    accelerator_power_w: float | None = None
    nvlink: bool | None = None
    nvlink_gb_per_s: float | None = None
    interconnect: str | None = None
    nics_per_node_count: int | None = None
    nic_speed_gbit_per_s: float | None = None
    oversubscription_factor: float | None = None
    rail_optimised: bool | None = None
    same_spine: bool | None = None
    cpu: str | None = None
    cpu_cores_per_node_count: int | None = None
    ram_per_node_gb: float | None = None
    local_disk_per_node_tb: float | None = None
    cooling: str | None = None
    site_cooling: str | None = None
    node_power_kw: float | None = None
    rack_power_kw: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    firmware_baseline: str | None = None
    burn_in_days: float | None = None
    region: str | None = None
    country: str | None = None
    # software
    operating_system: str | None = None
    driver_version: str | None = None
    accelerator_stack: str | None = None
    orchestration: str | None = None
    images: str | None = None
    monitoring: str | None = None
    root_access: bool | None = None
    licences_included: str | None = None
    licence_price_per_gpu_year: Amount | None = None
    model: str | None = None
    model_version_pinned: bool | None = None
    deprecation_notice_days: float | None = None
    context_tokens: int | None = None
    rate_limit_requests_per_min: float | None = None
    rate_limit_tokens_per_min: float | None = None
    # commercial
    unit_price: Amount | None = None
    unit: str | None = None
    month_hours: float | None = None
    quantity: float | None = None
    monthly_price: Amount | None = None
    total_price: Amount | None = None
    list_unit_price: Amount | None = None
    discount_ratio: float | None = None
    term_months: float | None = None
    minimum_term_months: float | None = None
    minimum_quantity: float | None = None
    minimum_commit_per_month: Amount | None = None
    total_commit: Amount | None = None
    billing_granularity_s: float | None = None
    billing_start: str | None = None
    upfront_ratio: float | None = None
    payment_terms_days: float | None = None
    ramp_schedule: str | None = None
    auto_renewal: bool | None = None
    renewal_notice_days: float | None = None
    early_exit_fee: Amount | None = None
    early_exit_fee_ratio: float | None = None
    resale_right: bool | None = None
    swap_right: bool | None = None
    price_match: bool | None = None
    expansion_unit_price: Amount | None = None
    overage_unit_price: Amount | None = None
    egress_price_per_gb: Amount | None = None
    ingress_price_per_gb: Amount | None = None
    storage_price_per_gb_month: Amount | None = None
    public_ip_price_per_month: Amount | None = None
    idle_billing: bool | None = None
    trial_days: float | None = None
    trial_nodes_count: int | None = None
    credits: Amount | None = None
    setup_fee: Amount | None = None
    support_fee_per_month: Amount | None = None
    includes: tuple[str, ...] | None = None
    input_price_per_million_tokens: Amount | None = None
    output_price_per_million_tokens: Amount | None = None
    cached_input_price_per_million_tokens: Amount | None = None
    batch_discount_ratio: float | None = None
    # security
    isolation: str | None = None
    soc2: str | None = None
    iso_27001: bool | None = None
    firmware_attestation: bool | None = None
    fabric_isolation: bool | None = None
    key_management: str | None = None
    encryption_at_rest: bool | None = None
    deletion_certificate: bool | None = None
    data_residency: str | None = None
    dpa: bool | None = None
    sub_processors: str | None = None
    data_used_for_training: bool | None = None
    retention_days: float | None = None
    audit_right: bool | None = None
    # reliability
    uptime_ratio: float | None = None
    uptime_scope: str | None = None
    goodput_ratio: float | None = None
    sla_exclusions: str | None = None
    credit_ladder: tuple[Credit, ...] | None = None
    credit_cap_ratio: float | None = None
    node_replacement_hours: float | None = None
    replacement_api: bool | None = None
    hot_spares_count: int | None = None
    hot_spares_same_spine: bool | None = None
    returned_node_protection: bool | None = None
    maintenance_notice_days: float | None = None
    support_hours: str | None = None
    support_response_minutes: float | None = None
    named_engineer: bool | None = None
    sla_exit_months: float | None = None
    # acceptance
    acceptance_test: str | None = None
    acceptance_days: float | None = None
    dcgm_level: int | None = None
    gemm_tflops: float | None = None
    allreduce_gb_per_s: float | None = None
    soak_hours: float | None = None
    failed_acceptance_payer: str | None = None
    # storage
    storage_kind: str | None = None
    storage_usable_tb: float | None = None
    storage_raw_tb: float | None = None
    storage_iops: float | None = None
    storage_read_gb_per_s: float | None = None
    storage_write_gb_per_s: float | None = None
    snapshots: bool | None = None
    migration_tooling: str | None = None
    region_move_overlap_days: float | None = None
    # exit
    warranty_months: float | None = None
    advance_replacement: bool | None = None
    support_price_per_year: Amount | None = None
    installation_included: bool | None = None
    licences_transferable: bool | None = None
    buy_back_ratio: float | None = None
    buy_back_months: float | None = None
    export_control: str | None = None
    financing_rate_per_year: float | None = None
    financing_months: float | None = None
    data_export_days: float | None = None
    governing_law: str | None = None
    notes: str | None = None
    items: tuple[QuoteItem, ...] = ()
    seen: tuple[Seen, ...] = ()
    left: tuple[Left, ...] = ()
    file: str = ""
    form: str = ""
    sha256: str = ""

    def said(self) -> dict[str, Any]:
        """The fields that say something, in the order of ``FIELDS``."""
        found = {one.name: getattr(self, one.name) for one in FIELDS}
        return {name: value for name, value in found.items() if value is not None}

    def where(self, name: str) -> Seen | None:
        """Where a field was read, ``None`` for one that wasn't."""
        return next((one for one in self.seen if one.field == name), None)

    @property
    def sort(self) -> str:
        """The purpose it is judged by: as stated, else by what it prices, else a rental."""
        if self.purpose:
            return self.purpose
        if self.input_price_per_million_tokens or self.output_price_per_million_tokens:
            return "api"
        if self.unit in ("gpu", "node", "rack", "system"):
            return "buy"
        months = self.term_months or self.minimum_term_months
        return "reserve" if months and months > 1 else "rent"
