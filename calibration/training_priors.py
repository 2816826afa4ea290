"""What is believed of training speed before looking at the cases, and what the cases don't tell."""

from __future__ import annotations

from typing import Any

SEEN = "2026-11-30"
NEWEST = 2026.5  # year of the newest container in the cases
EAGER = (
    "the framework against the others; code run eagerly takes up to 1.27 times (torchtune without compile)"
)
FUSED = (
    "fused attention, long sequences: FlashAttention-2 0.33 (H100) to 0.57 (A100) of peak, later kernels 0.75"
)
FAMILIES = ("megatron", "megatron-deepspeed", "fsdp", "hf", "litgpt", "maxtext", "torchtune", "unknown")


RUN_EAGERLY = ("hf", "litgpt", "torchtune")  # PyTorch modules, kernel by kernel
LAUNCH_S = {"unknown": 8e-4}  # between those run eagerly and the others
KERNELS = {"megatron": "cudnn", "maxtext": "cudnn", "megatron-deepspeed": "eager"}  # else FlashAttention-2
FORWARD = "FlashAttention-2 forward, public kernel benchmarks: A100 179 TFLOPS, H100 328; backward is slower"
CUDNN = "cuDNN and FlashAttention-3: 0.75 of an H100's peak forward; NVIDIA's tables keep 1,608 TFLOPS on B200 at 1M"
UNFUSED = (
    "scores written to memory and read again: 10 bytes each way (Korthikanti et al. 2022), at A100's 2 TB/s"
)


def kernels() -> dict[str, Any]:
    """Share of the card's best product that attention kernels reach on long sequences, by kernel and architecture."""
    return {
        "flash2": {
            "ampere": prior(0.62, FORWARD, 0.2),
            "hopper": prior(0.40, FORWARD, 0.2),
            "unknown": prior(0.5, FORWARD, 0.3),
        },
        "cudnn": {
            "hopper": prior(0.75, CUDNN, 0.25),
            "blackwell": prior(0.75, CUDNN, 0.25),
            "unknown": prior(0.6, CUDNN, 0.3),
        },
        "eager": {"unknown": prior(0.3, UNFUSED, 0.5)},
    }


def entry(
    value: float, source: str, grade: str = "measured", low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"value": value, "source": source, "grade": grade}
    return made | ({"low": low, "high": high} if low is not None else {})


def powered(row: dict[str, Any], w_per_tflop_per_s: float) -> dict[str, Any]:
    """A best product with the board watts per dense 16-bit TFLOPS of the card it was seen on."""
    return row | {"w_per_tflop_per_s": w_per_tflop_per_s}


def prior(value: float, source: str, sd: float, shared: tuple[str, float] | None = None) -> dict[str, Any]:
    """A coefficient to fit: its prior and the standard deviation of its logarithm, its own and what others share."""
    return entry(value, source) | {"sd": sd} | ({"shared": shared} if shared else {})


def template() -> dict[str, Any]:
    """The file before fitting: priors, and what isn't fitted."""
    slowness = {"hf": 1.2, "torchtune": 1.15, "litgpt": 1.1, "unknown": 1.1}
    families = {
        name: {
            "slowness_ratio": prior(slowness.get(name, 1.0), EAGER, 0.1, ("slowness", 0.15)),
            "attention": KERNELS.get(name, "flash2"),
            "tensor_exposed_ratio": prior(
                *{
                    "megatron-deepspeed": (
                        1.0,
                        "tensor-parallel reductions wait, forward and backward (2022)",
                        0.1,
                    )
                }.get(name, (0.5, "tensor-parallel reductions partly hidden", 0.5))
            ),
            "data_exposed_ratio": prior(
                *{
                    "megatron-deepspeed": (
                        1.0,
                        "reduced after the last micro-batch (DeepSpeed pipe/engine.py)",
                        0.1,
                    )
                }.get(
                    name,
                    (
                        {"hf": 0.8, "litgpt": 0.9}.get(name, 0.3),
                        "share of the data-parallel exchange that doesn't hide: short micro-batches hide little",
                        {"hf": 0.15, "litgpt": 0.1}.get(name, 0.5),
                    ),
                )
            ),
            "gradient_bytes_per_param": prior(
                {"hf": 60.0}.get(name, 10.0),
                "gradients added up in every micro-batch: read and written in 32 bit; DeepSpeed copies them to buckets",
                0.5,
            ),
            "launch_s_per_layer": prior(
                1.0e-3, "host time per layer and pass, run eagerly", 0.25, ("launch", 0.5)
            )
            if name in RUN_EAGERLY
            else prior(LAUNCH_S.get(name, 2.5e-4), "host time per layer and pass", 0.5),
        }
        for name in FAMILIES
    }
    for row in families["unknown"].values():
        if isinstance(row, dict):
            row |= {"sd": 0.01, "grade": "assumed"}
    return {
        "what": "Coefficients of training speed; low and high are 90 % intervals. Written by calibration/training.py.",
        "seen": SEEN,
        "newest": NEWEST,
        "coefficients": {
            "training_matmul_ratio": prior(
                0.88, "share of the card's best matrix-multiply rate that training reaches", 0.1
            ),
            "moe_matmul_ratio": prior(0.65, "the same for grouped products of experts", 0.2),
            "power_exponent_ratio": prior(
                0.57,
                "exponent of watts per operation: one chip at 750 W and 1,000 W, MI300X 0.51, MI325X 0.60",
                0.3,
            ),
            "expert_copies_count": prior(10.0, "copies of an expert's activations moved in each pass", 0.7),
            "half_expert_tokens": prior(
                500.0, "rows of an expert at which its products run at half speed", 0.7
            ),
            "routed_launch_ratio": prior(
                2.0, "kernels of a layer with experts beyond those of a dense one", 0.7
            ),
            "adapted_copies_count": prior(
                20.0, "copies of a token's vector that adapters read and add, seven matrices a layer", 0.5
            ),
            "adapted_launch_ratio": prior(0.5, "kernels that adapters add to a layer", 0.5),
            "half_tokens": prior(300.0, "micro-batch tokens at which products run at half speed", 0.7),
            "half_width_count": prior(200.0, "slice width at which products run at half speed", 0.7),
            "half_attended_tokens": prior(
                600.0, "attended tokens at which attention runs at half its best", 0.4
            ),
            "exponential_dim_count": entry(
                64.0,
                "with heads of 128 exponentials take half as long as products (FlashAttention-3, arXiv 2407.08608)",
                "quoted",
            ),
            "hop_s": prior(1e-6, "time per hop of a ring", 0.5),
            "straggler_ratio": prior(
                0.004, "share of a step lost for every doubling beyond one machine", 0.5
            ),
            "logits_copies_count": prior(6.0, "copies of the logits moved by head and loss", 0.4),
            "routed_copies_count": prior(20.0, "copies of a token's vector per expert moved by routing", 0.7),
            "state_copies_count": prior(
                60.0, "copies of a token's vector moved by the scan of a recurrent layer", 0.7
            ),
            "dequantise_ratio": prior(
                0.3, "share of memory bandwidth reached when unpacking 4-bit weights", 0.5
            ),
            "expert_exposed_ratio": prior(0.5, "share of the all-to-all that doesn't hide", 0.5),
            "fixed_s": prior(0.02, "data loading, logging and synchronisation per step", 0.5),
            "yearly_ratio": prior(
                1.0, "slowness of a release per year of age, dense models; none unless rows say so", 0.06
            ),
            "oldest_count": entry(
                4.0,
                "years of age beyond which none of the cases lies: slowness isn't drawn out further",
                "derived",
            ),
            "moe_yearly_ratio": prior(
                1.0,
                "slowness of a release per year of age, mixtures of experts; none unless rows say so",
                0.3,
            ),
            "context_exposed_ratio": entry(
                0.3, "few rows; taken as the data-parallel share", "assumed", 0.1, 0.6
            ),
            "host_exposed_ratio": prior(
                0.15, "share of the shorter of host and device that doesn't hide", 0.5
            ),
            "offload_bytes_per_param": entry(
                32.0, "gradients out, weights back over the bus, Adam in host memory", "assumed", 20.0, 45.0
            ),
            "host_bytes_per_s": entry(
                25e9,
                "host memory per accelerator; PCIe 4 x16 alone is 25 to 28 GB/s measured",
                "assumed",
                12e9,
                60e9,
            ),
        },
        "screening": {  # of layouts, before memory is worked out: no more than what is really held
            "state_bytes": entry(
                4.0, "16-bit weight and gradient, the least a trained weight takes", "derived"
            ),
            "master_bytes": entry(
                8.0, "master copy and one moment, the least that optimizers with one keep", "derived"
            ),
            "kept_bytes": entry(
                20.0, "34 of a token's width (arXiv 2205.05198) less what fused kernels save", "assumed"
            ),
            "recomputed_bytes": entry(2.0, "a layer's input in 16 bit (arXiv 2205.05198)", "derived"),
        },
        "attention": kernels(),
        "card_matmul_ratio": {
            "ampere": entry(
                0.87, "stas00/ml-engineering, best measured matrix multiply, A100", "measured", 0.81, 0.87
            ),
            "hopper": powered(
                entry(
                    0.80, "stas00/ml-engineering, best measured matrix multiply, H100", "measured", 0.78, 0.84
                ),
                0.708,
            ),
            "blackwell": powered(
                entry(
                    0.76,
                    "stas00/ml-engineering, best measured matrix multiply, B200, B300, GB200",
                    "measured",
                    0.73,
                    0.79,
                ),
                0.471,
            ),
            "ada": entry(0.80, "as Hopper; no public measurement seen", "assumed", 0.65, 0.9),
            "cdna3": powered(
                entry(0.56, "stas00/ml-engineering, MI300X 0.51, MI325X 0.60", "measured", 0.51, 0.6), 0.669
            ),
            "cdna4": entry(0.68, "stas00/ml-engineering, MI355X", "measured", 0.6, 0.7),
            "volta": entry(
                0.75, "Megatron 2020 rows reach 0.58 of peak with recomputation", "derived", 0.6, 0.85
            ),
            "unknown": entry(0.75, "middle of the measured cards", "assumed", 0.5, 0.9),
        },
        "formats": {
            "bf16": {
                "format_ratio": entry(1.0, "by definition", "derived"),
                "copies_count": prior(60.0, "copies of a token's vector moved in each layer and pass", 0.4),
            },
            "fp8": {
                "format_ratio": prior(0.9, "8-bit products against their own peak", 0.15),
                "copies_count": prior(62.0, "the same with casts to 8 bit", 0.4),
            },
            "mxfp8": {
                "format_ratio": prior(0.85, "8-bit products with block scales", 0.15),
                "copies_count": prior(64.0, "the same with casts to block-scaled 8 bit", 0.4),
            },
            "nvfp4": {
                "format_ratio": prior(0.65, "4-bit products against their own peak", 0.2),
                "copies_count": prior(64.0, "the same with casts to 4 bit", 0.4),
            },
        },
        "families": families,
        "frameworks": [
            ["megatron-deepspeed", "megatron-deepspeed"],
            ["bridge", "megatron"],
            ["nemo", "megatron"],
            ["megatron", "megatron"],
            ["foundry", "fsdp"],
            ["composer", "fsdp"],
            ["torchtitan", "fsdp"],
            ["fsdp", "fsdp"],
            ["metaseq", "fsdp"],
            ["torchtune", "torchtune"],
            ["unsloth", "torchtune"],
            ["litgpt", "litgpt"],
            ["lightning", "litgpt"],
            ["qwen", "hf"],
            ["accelerate", "hf"],
            ["deepspeed", "hf"],
            ["transformers", "hf"],
            ["trl", "hf"],
            ["axolotl", "hf"],
            ["llama-factory", "hf"],
            ["llamafactory", "hf"],
            ["peft", "hf"],
            ["maxtext", "maxtext"],
            ["jax", "maxtext"],
            ["ngc", "megatron"],
            ["nvidia", "megatron"],
        ],
        "optimizers": {
            name: entry(value, why, "derived", value * 0.8, value * 1.2)
            for name, value, why in (
                (
                    "adamw",
                    30.0,
                    "gradient, master weights and two moments read, all but the gradient written, 32 bit",
                ),
                ("adamw-8bit", 18.0, "moments in 8 bit"),
                ("adamw-paged-8bit", 20.0, "moments in 8 bit, pages fetched at times"),
                ("adafactor", 16.0, "no full second moment"),
                ("sgd", 14.0, "one moment"),
                ("muon", 40.0, "one moment and five products of Newton-Schulz"),
            )
        },
        "spread": {},
        "held_out": {},
    }
