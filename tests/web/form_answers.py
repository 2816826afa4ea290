"""What a person types into the guided brief, in the order of the form; the date is typed part by part."""

SMALL_CHAT = (
    ("f-name", "little-chat"),
    ("f-models-0-id", "Qwen/Qwen3-14B"),
    ("f-traffic-requests_per_s-mean", "2"),
    ("f-traffic-requests_per_s-peak", "6"),
    ("f-traffic-input_tokens-p50", "900"),
    ("f-traffic-input_tokens-p95", "3500"),
    ("f-traffic-output_tokens-p50", "250"),
    ("f-traffic-output_tokens-p95", "700"),
    ("f-objectives-ttft_p95", "900"),
    ("f-objectives-itl_p95", "60"),
    ("f-limits-data-0", "EU"),
    ("f-limits-needed_by", ""),
    ("f-budget-monthly", "9000"),
    ("f-horizon", "12"),
    ("f-team-platform_engineers", "0.25"),
    ("f-team-loaded_cost", "80000"),
)
