"""How training frameworks print their steps: patterns as data, each with where it was read.

Metric names are those of measured cases: ``step_time_s``, ``tokens_s_per_gpu``, ``tokens_s``, ``samples_s``, ``loss``,
``peak_gib_per_gpu``, ``tflops_per_gpu``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
GIB_PER_MIB = 1 / 1024
GIB_PER_GB = 1e9 / 2**30
S_PER_MS = 1e-3


@dataclass(frozen=True, slots=True)
class Format:
    """One framework's lines.

    Attributes:
        marker: what a line of its progress has, and no other framework's.
        step: finds the number of the step, where one is printed.
        values: metric -> (pattern with one group, factor to the metric's unit).
        source: file of the framework that prints it, and its documentation where lines are quoted.
    """

    name: str
    marker: str
    step: str
    values: dict[str, tuple[str, float]]
    source: str
    also: tuple[str, ...] = field(default=())  # other frameworks that print the same


_TQDM = r"\b(\d+)/\d+ \[\d+:\d\d"
_QUOTED = r"['\"]?: ?['\"]?"

FORMATS = (
    Format(
        "megatron",
        r"elapsed time per iteration \(ms\):",
        r"iteration\s+(\d+)/\s*\d+",
        {
            "step_time_s": (rf"elapsed time per iteration \(ms\): {NUMBER}", S_PER_MS),
            "tflops_per_gpu": (rf"(?:throughput per GPU \(TFLOP/s/GPU\)|TFLOPs): {NUMBER}", 1.0),
            "tokens_s_per_gpu": (rf"tokens per gpu per second \(tgs\): {NUMBER}", 1.0),
            "loss": (rf"lm loss: {NUMBER}", 1.0),
            "peak_gib_per_gpu": (rf"max reserved: {NUMBER}", GIB_PER_MIB),
        },
        "NVIDIA/Megatron-LM megatron/training/training.py (training_log, report_memory)",
        ("Megatron-DeepSpeed", "MindSpeed", "Primus"),
    ),
    Format(
        "maxtext",
        r"completed step: \d+, seconds:",
        r"completed step: (\d+)",
        {
            "step_time_s": (rf"seconds: +{NUMBER}", 1.0),
            "tflops_per_gpu": (rf"TFLOP/s/device: {NUMBER}", 1.0),
            "tokens_s_per_gpu": (rf"Tokens/s/device: {NUMBER}", 1.0),
            "loss": (rf"\bloss: {NUMBER}", 1.0),
        },
        "AI-Hypercomputer/maxtext src/MaxText/metric_logger.py",
    ),
    Format(
        "nemo",
        r"train_step_timing in s",
        r"(?:\biteration (\d+)/\d+|global_step=(\d+))",
        {
            "step_time_s": (rf"train_step_timing in s(?:: |=){NUMBER}", 1.0),
            "tflops_per_gpu": (rf"(?i)TFLOPS_per_GPU(?:: |=){NUMBER}", 1.0),
            "loss": (rf"reduced_train_loss(?:: |=){NUMBER}", 1.0),
        },
        "NVIDIA-NeMo/NeMo nemo/lightning/pytorch/callbacks/progress_printer.py",
    ),
    Format(
        "deepspeed",
        r"RunningAvgSamplesPerSec=",
        r"global_step=(\d+)",
        {
            "samples_s": (rf"CurrSamplesPerSec={NUMBER}", 1.0),
            "peak_gib_per_gpu": (rf"MaxMemAllocated={NUMBER}", 1.0),
        },
        "deepspeedai/DeepSpeed deepspeed/utils/timer.py (ThroughputTimer; its GB are of 1024^3 bytes)",
    ),
    Format(
        "torchtune",
        r"Step \d+ \| .*\btokens_per_second_per_gpu:",
        r"Step (\d+) \|",
        {
            "tokens_s_per_gpu": (rf"tokens_per_second_per_gpu:{NUMBER}", 1.0),
            "loss": (rf"\bloss:{NUMBER}", 1.0),
            "peak_gib_per_gpu": (rf"peak_memory_reserved:{NUMBER}", 1.0),
        },
        "pytorch/torchtune torchtune/training/metric_logging.py (StdoutLogger, DiskLogger)",
    ),
    Format(
        "axolotl",
        r"memory/max_(?:active|allocated) \(GiB\)",
        _TQDM,
        {
            "loss": (rf"'loss{_QUOTED}{NUMBER}", 1.0),
            "tokens_s_per_gpu": (
                rf"tokens(?:/train_per_sec_per_gpu|_per_second_per_gpu){_QUOTED}{NUMBER}", 1.0,
            ),
            "peak_gib_per_gpu": (rf"memory/max_(?:mem_)?allocated ?\(GiB\){_QUOTED}{NUMBER}", 1.0),
        },
        "axolotl-ai-cloud/axolotl src/axolotl/core/trainers/base.py",
    ),
    Format(
        "llama-factory",
        r"'loss'.*'throughput'",
        _TQDM,
        {
            "loss": (rf"'loss{_QUOTED}{NUMBER}", 1.0),
            "tokens_s": (rf"'throughput{_QUOTED}{NUMBER}", 1.0),
        },
        "hiyouga/LLaMA-Factory src/llamafactory/train/callbacks.py (LogCallback, effective tokens of all GPUs)",
    ),
    Format(
        "hf-trainer",
        r"\{'(?:train_)?(?:loss|runtime)': .*'epoch':",
        _TQDM,
        {"loss": (rf"'loss{_QUOTED}{NUMBER}", 1.0)},
        "huggingface/transformers src/transformers/trainer_callback.py (ProgressCallback), steps from tqdm's bar",
        ("TRL", "Unsloth", "ms-swift"),
    ),
)  # fmt: skip


def format_named(name: str) -> Format | None:
    """The built-in format of that name."""
    return next((one for one in FORMATS if one.name == name), None)
