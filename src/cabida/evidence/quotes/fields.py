"""What a vendor's quote can say, as one table: templates, readers, audits, letters and docs are all made from it.

Groups are the four of the procurement checklist (hardware, software, commercial, security) with what a contract needs
beside them. Kinds: ``text``, ``list``, ``choice``, ``flag``, ``date``, ``whole``, ``number``, ``ratio``, ``money`` and
``ladder`` (credits by uptime). Titles and questions are the texts ``procure.field.NAME`` and ``procure.question.NAME``.
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida.text import has_text, tr

PURPOSES = ("rent", "reserve", "buy", "api", "cluster")
GROUPS = (
    "identity", "hardware", "software", "commercial", "security", "reliability", "acceptance", "storage", "exit",
)  # fmt: skip
SEVERITIES = ("blocking", "important", "useful")
_LETTER = {"B": "blocking", "I": "important", "U": "useful", "-": ""}
FORM_FACTORS = ("SXM", "PCIe", "NVL", "OAM", "other")
NETWORKS = ("infiniband", "roce", "ethernet", "efa", "slingshot", "none", "other")
UNITS = (  # what one unit of the price is
    "gpu_hour", "node_hour", "rack_hour", "gpu_month", "node_month", "rack_month", "gpu_year", "node_year",
    "gpu", "node", "rack", "system", "total",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One thing a quote can say.

    ``severity`` is how bad it is to find it missing, for each purpose ("" = it isn't asked then). ``unit`` is the unit
    its value has in ``Quote``; a ratio is written with a percent sign.
    """

    name: str
    group: str
    kind: str
    unit: str = ""
    severities: str = "-----"  # a letter for each of PURPOSES
    choices: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """The key of the question that is sent back to the vendor when it is missing."""
        return f"procure.question.{self.name}"

    @property
    def title(self) -> str:
        """The key of its name as people read it."""
        return f"procure.field.{self.name}"

    def severity(self, purpose: str) -> str:
        """``blocking``, ``important``, ``useful`` or "" when missing from a quote of this purpose."""
        at = PURPOSES.index(purpose) if purpose in PURPOSES else 0
        return _LETTER[self.severities[at]]


def _group(
    group: str, *rows: tuple[str, str, str, str] | tuple[str, str, str, str, tuple[str, ...]]
) -> list[Field]:
    return [Field(row[0], group, row[1], row[2], row[3], row[4] if len(row) == 5 else ()) for row in rows]


FIELDS: tuple[Field, ...] = (
    *_group(
        "identity",  # name, kind, unit, severity to rent, reserve, buy, use an API, build a cluster
        ("quote_id", "text", "", "IIIUI"),
        ("vendor", "text", "", "BBBBB"),
        ("vendor_legal_entity", "text", "", "IBBIB"),
        ("purpose", "choice", "", "IIIII", PURPOSES),
        ("issued", "date", "", "BBBIB"),
        ("expires", "date", "", "BBBIB"),
        ("currency", "text", "", "BBBBB"),
        ("tax_treatment", "choice", "", "BBBIB", ("excluded", "included", "exempt", "reverse_charge")),
        ("tax_ratio", "ratio", "%", "UUIUI"),
        ("fx_clause", "text", "", "UIIUI"),
        ("price_adjustment_clause", "text", "", "UBIII"),
        ("price_adjustment_limit_ratio_per_year", "ratio", "%/year", "UIUUU"),
        ("incoterms", "text", "", "--I-I"),
        ("import_duty_included", "flag", "", "--I-I"),
        ("lead_time_days", "number", "days", "IBB-B"),
        ("delivery_date", "date", "", "UIIUI"),
        ("delay_penalty", "text", "", "UII-I"),
    ),
    *_group(
        "hardware",
        ("accelerator", "text", "", "BBB-B"),
        ("accelerator_sku", "text", "", "UII-I"),
        ("form_factor", "choice", "", "BBB-B", FORM_FACTORS),
        ("condition", "choice", "", "--B-I", ("new", "used", "refurbished")),
        ("accelerators_count", "whole", "", "BBB-B"),
        ("accelerators_per_node_count", "whole", "", "BBI-B"),
        ("nodes_count", "whole", "", "IBI-B"),
        ("accelerator_memory_gb", "number", "GB", "III-I"),
        ("accelerator_memory_usable_gib", "number", "GiB", "UII-I"),
        ("memory_bandwidth_gb_per_s", "number", "GB/s", "UUU-U"),
        ("tflops", "number", "TFLOPS", "UUU-U"),
        ("tflops_precision", "choice", "", "UUU-U", ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")),
        ("tflops_sparse", "flag", "", "UUU-U"),
        ("accelerator_power_w", "number", "W", "UII-I"),
        ("nvlink", "flag", "", "III-I"),
        ("nvlink_gb_per_s", "number", "GB/s", "UUU-U"),
        ("interconnect", "choice", "", "IIU-B", NETWORKS),
        ("nics_per_node_count", "whole", "", "UII-B"),
        ("nic_speed_gbit_per_s", "number", "Gbit/s", "UIU-B"),
        ("oversubscription_factor", "number", "", "UIU-B"),
        ("rail_optimised", "flag", "", "UUU-I"),
        ("same_spine", "flag", "", "UUU-I"),
        ("cpu", "text", "", "UUI-I"),
        ("cpu_cores_per_node_count", "whole", "", "UUU-U"),
        ("ram_per_node_gb", "number", "GB", "IIB-I"),
        ("local_disk_per_node_tb", "number", "TB", "UUI-U"),
        ("cooling", "choice", "", "--B-I", ("air", "liquid", "immersion")),
        ("site_cooling", "choice", "", "--U-U", ("air", "liquid", "immersion")),
        ("node_power_kw", "number", "kW", "--B-I"),
        ("rack_power_kw", "number", "kW", "--I-I"),
        ("ecc", "flag", "", "UUI-I"),
        ("mig", "flag", "", "UUU-U"),
        ("firmware_baseline", "text", "", "UUU-I"),
        ("burn_in_days", "number", "days", "UII-I"),
        ("region", "text", "", "BBUIB"),
        ("country", "text", "", "IIUII"),
    ),
    *_group(
        "software",
        ("operating_system", "text", "", "IIU-I"),
        ("driver_version", "text", "", "IIU-I"),
        ("accelerator_stack", "text", "", "IIU-I"),
        ("orchestration", "text", "", "UIU-B"),
        ("images", "text", "", "UUU-U"),
        ("monitoring", "text", "", "IIUIB"),
        ("root_access", "flag", "", "IIU-I"),
        ("licences_included", "text", "", "UIIUI"),
        ("licence_price_per_gpu_year", "money", "/GPU-year", "UII-I"),
        ("model", "text", "", "---B-"),
        ("model_version_pinned", "flag", "", "---I-"),
        ("deprecation_notice_days", "number", "days", "---I-"),
        ("context_tokens", "whole", "tokens", "---I-"),
        ("rate_limit_requests_per_min", "number", "1/min", "---B-"),
        ("rate_limit_tokens_per_min", "number", "tokens/min", "---B-"),
    ),
    *_group(
        "commercial",
        ("unit_price", "money", "", "BBB-B"),
        ("unit", "choice", "", "BBB-B", UNITS),
        ("month_hours", "number", "h", "UIU-I"),
        ("quantity", "number", "", "IBB-B"),
        ("monthly_price", "money", "/month", "UIU-I"),
        ("total_price", "money", "", "UBB-B"),
        ("list_unit_price", "money", "", "UUU-U"),
        ("discount_ratio", "ratio", "%", "UUUUU"),
        ("term_months", "number", "months", "IBU-B"),
        ("minimum_term_months", "number", "months", "BBU-B"),
        ("minimum_quantity", "number", "", "IIU-I"),
        ("minimum_commit_per_month", "money", "/month", "IIUIU"),
        ("total_commit", "money", "", "UB--B"),
        ("billing_granularity_s", "number", "s", "BIU-U"),
        ("billing_start", "choice", "", "IBB-B", ("signature", "delivery", "acceptance", "first_use")),
        ("upfront_ratio", "ratio", "%", "IBBUB"),
        ("payment_terms_days", "number", "days", "IIIII"),
        ("ramp_schedule", "text", "", "UIU-I"),
        ("auto_renewal", "flag", "", "IBUII"),
        ("renewal_notice_days", "number", "days", "UIUUI"),
        ("early_exit_fee", "money", "", "IIU-I"),
        ("early_exit_fee_ratio", "ratio", "%", "UIU-I"),
        ("resale_right", "flag", "", "UIU-I"),
        ("swap_right", "flag", "", "UIU-I"),
        ("price_match", "flag", "", "UIUUU"),
        ("expansion_unit_price", "money", "", "UIU-I"),
        ("overage_unit_price", "money", "", "UIUIU"),
        ("egress_price_per_gb", "money", "/GB", "IIUUI"),
        ("ingress_price_per_gb", "money", "/GB", "UUUUU"),
        ("storage_price_per_gb_month", "money", "/GB-month", "IIU-I"),
        ("public_ip_price_per_month", "money", "/month", "UUU-U"),
        ("idle_billing", "flag", "", "IIU-U"),
        ("trial_days", "number", "days", "UUUUU"),
        ("trial_nodes_count", "whole", "", "UUU-U"),
        ("credits", "money", "", "UUUUU"),
        ("setup_fee", "money", "", "IIIUI"),
        ("support_fee_per_month", "money", "/month", "IIIUI"),
        ("includes", "list", "", "IIIUI"),
        ("input_price_per_million_tokens", "money", "/million tokens", "---B-"),
        ("output_price_per_million_tokens", "money", "/million tokens", "---B-"),
        ("cached_input_price_per_million_tokens", "money", "/million tokens", "---I-"),
        ("batch_discount_ratio", "ratio", "%", "---U-"),
    ),
    *_group(
        "security",
        ("isolation", "choice", "", "BBU-B", ("bare_metal", "vm", "container", "shared")),
        ("soc2", "choice", "", "IIUII", ("none", "type_1", "type_2")),
        ("iso_27001", "flag", "", "IIUII"),
        ("firmware_attestation", "flag", "", "UUU-U"),
        ("fabric_isolation", "flag", "", "UUU-I"),
        ("key_management", "choice", "", "IIUIU", ("provider", "customer", "hsm")),
        ("encryption_at_rest", "flag", "", "IIUII"),
        ("deletion_certificate", "flag", "", "IIUIU"),
        ("data_residency", "text", "", "BBUBB"),
        ("dpa", "flag", "", "IIUBI"),
        ("sub_processors", "text", "", "UIUIU"),
        ("data_used_for_training", "flag", "", "---B-"),
        ("retention_days", "number", "days", "---B-"),
        ("audit_right", "flag", "", "UUUUU"),
    ),
    *_group(
        "reliability",
        ("uptime_ratio", "ratio", "%", "BB-BB"),
        ("uptime_scope", "choice", "", "II-UI", ("node", "cluster", "service", "job")),
        ("goodput_ratio", "ratio", "%", "UU--I"),
        ("sla_exclusions", "text", "", "II-II"),
        ("credit_ladder", "ladder", "", "IB-IB"),
        ("credit_cap_ratio", "ratio", "%", "UI-UI"),
        ("node_replacement_hours", "number", "h", "IIU-B"),
        ("replacement_api", "flag", "", "UU--U"),
        ("hot_spares_count", "whole", "", "UU--I"),
        ("hot_spares_same_spine", "flag", "", "UU--U"),
        ("returned_node_protection", "flag", "", "UU--I"),
        ("maintenance_notice_days", "number", "days", "IIUII"),
        ("support_hours", "text", "", "IIIII"),
        ("support_response_minutes", "number", "min", "IIIII"),
        ("named_engineer", "flag", "", "UUUUI"),
        ("sla_exit_months", "number", "months", "UI-UI"),
    ),
    *_group(
        "acceptance",
        ("acceptance_test", "text", "", "UIB-B"),
        ("acceptance_days", "number", "days", "UII-I"),
        ("dcgm_level", "whole", "", "UUU-I"),
        ("gemm_tflops", "number", "TFLOPS", "UUU-I"),
        ("allreduce_gb_per_s", "number", "GB/s", "UUU-B"),
        ("soak_hours", "number", "h", "UUI-I"),
        ("failed_acceptance_payer", "choice", "", "UII-B", ("vendor", "customer", "shared")),
    ),
    *_group(
        "storage",
        ("storage_kind", "text", "", "UUU-I"),
        ("storage_usable_tb", "number", "TB", "IIU-B"),
        ("storage_raw_tb", "number", "TB", "UUU-U"),
        ("storage_iops", "number", "1/s", "UUU-U"),
        ("storage_read_gb_per_s", "number", "GB/s", "UUU-I"),
        ("storage_write_gb_per_s", "number", "GB/s", "UUU-I"),
        ("snapshots", "flag", "", "UUU-U"),
        ("migration_tooling", "text", "", "UUU-U"),
        ("region_move_overlap_days", "number", "days", "UUU-U"),
    ),
    *_group(
        "exit",
        ("warranty_months", "number", "months", "--B-I"),
        ("advance_replacement", "flag", "", "--I-I"),
        ("support_price_per_year", "money", "/year", "--I-U"),
        ("installation_included", "flag", "", "--I-I"),
        ("licences_transferable", "flag", "", "--I-U"),
        ("buy_back_ratio", "ratio", "%", "--U-U"),
        ("buy_back_months", "number", "months", "--U-U"),
        ("export_control", "text", "", "UUIUI"),
        ("financing_rate_per_year", "ratio", "%/year", "--I-U"),
        ("financing_months", "number", "months", "--I-U"),
        ("data_export_days", "number", "days", "IIUIU"),
        ("governing_law", "text", "", "UUUUU"),
        ("notes", "text", "", "-----"),
    ),
)  # fmt: skip
BY_NAME: dict[str, Field] = {one.name: one for one in FIELDS}


def unit_said(unit: str, count: str = "2") -> str:
    """A field's unit in words, one or many of it; symbols as they are."""
    name = unit.removeprefix("/").replace("/", " per ")
    return tr(f"procure.unit.{name}", count=count) if has_text(f"procure.unit.{name}") else unit
