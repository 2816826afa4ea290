"""Models, formats and cards made by hand, so that memory is tested without the catalogue."""

from dataclasses import replace

from cabida.facts.model import Accelerator, AttentionLayers, MlpLayers, Model, WeightFormat
from cabida.plan import Deployment, Parallel, Settings, TrainingRun
from cabida.quantity import Source

GIB = 2.0**30
SOURCE = Source("made for a test", grade="assumed")


def fmt(id, body, head=16.0, other=16.0, family=""):
    return WeightFormat(id, (), body, head, other, "bf16", family or id, SOURCE)


BF16, FP8, INT4, NF4 = (
    fmt("bf16", 16),
    fmt("fp8", 8),
    fmt("awq-int4", 4.15625, family="int4"),
    fmt("bnb-nf4", 4.5, family="bnb"),
)


def card(gib, name="H100 SXM", vendor="NVIDIA", form="SXM"):
    return Accelerator(
        name, name, vendor, "Hopper", "9.0", form, "datacenter", 2022, gib * GIB, gib * GIB, "HBM3", 3.35e12, {},
        None, None, None, 5, 16, "nvlink4", 450e9, 8, True, None, None, {}, "A", "", SOURCE,
    )  # fmt: skip


H100, RTX3090, RTX4090 = card(79.65), card(24.0, "RTX 3090"), card(23.99, "RTX 4090")


def model(id, hidden, vocab, attention, mlp, **changed):
    tied, context = changed.pop("tied", False), changed.pop("context", 8192)
    made = Model(
        id, (), "", "llm", hidden, vocab, tied, tuple(attention), tuple(mlp), context, None, None, 0.0, "bf16", 0.0,
        "", None, SOURCE,
    )  # fmt: skip
    return replace(made, **changed)


def full(layers, heads, kv, dim, **more):
    return AttentionLayers("full", layers, heads, kv, dim, dim, **more)


LLAMA_7B = model("llama-2-7b", 4096, 32000, [full(32, 32, 32, 128)], [MlpLayers(32, 11008)], context=4096)
LLAMA_13B = model("llama-2-13b", 5120, 32000, [full(40, 40, 40, 128)], [MlpLayers(40, 13824)], context=4096)
LLAMA_8B = model("llama-3.1-8b", 4096, 128256, [full(32, 32, 8, 128)], [MlpLayers(32, 14336)], context=131072)
LLAMA_70B = model(
    "llama-3.1-70b", 8192, 128256, [full(80, 64, 8, 128)], [MlpLayers(80, 28672)], context=131072
)
LLAMA_30B = model("llama-30b", 6656, 32000, [full(60, 52, 52, 128)], [MlpLayers(60, 17920)], context=2048)
QWEN_7B = model(
    "qwen2.5-7b", 3584, 152064, [full(28, 28, 4, 128, biases=True)], [MlpLayers(28, 18944)], context=32768
)
QWEN3_06B = model(
    "qwen3-0.6b", 1024, 151936, [full(28, 16, 8, 128)], [MlpLayers(28, 3072)], tied=True, context=40960
)
DEEPSEEK = model(
    "deepseek-v3", 7168, 129280,
    [AttentionLayers("mla", 61, 128, 1, 192, 128, latent_dim_count=512, rope_dim_count=64,
                     query_latent_dim_count=1536)],
    [MlpLayers(3, 18432), MlpLayers(58, 2048, 3, 256, 8, 2048)],
    context=163840,
)  # fmt: skip
GEMMA_27B = model(
    "gemma-3-27b", 5376, 262208,
    [AttentionLayers("sliding", 52, 32, 16, 128, 128, window_tokens=1024), full(10, 32, 16, 128)],
    [MlpLayers(62, 21504)], tied=True, context=131072,
)  # fmt: skip
HYBRID_27B = model(
    "qwen3.8-27b", 5120, 248320,
    [
        AttentionLayers("linear", 48, 48, 0, 128, 128, state_elements_count=786432, conv_elements_count=30720,
                        params_count=115875840.0, state_bits=32),
        full(16, 24, 4, 256),
    ],
    [MlpLayers(64, 17408)], context=262144,
)  # fmt: skip
MIXTRAL = model(
    "mixtral-8x7b", 4096, 32000, [full(32, 32, 8, 128)], [MlpLayers(32, 14336, 3, 8, 2)], context=32768
)
ALL_MODELS = (LLAMA_7B, LLAMA_8B, QWEN_7B, QWEN3_06B, DEEPSEEK, GEMMA_27B, HYBRID_27B, MIXTRAL)


def deployment(
    made,
    accelerator=H100,
    weights=BF16,
    kv=BF16,
    engine="vllm",
    version="",
    tp=1,
    pp=1,
    dp=1,
    ep=1,
    **settings,
):
    return Deployment(
        made, accelerator, Parallel(tp, pp, dp, ep), weights, kv, engine, version, Settings(**settings)
    )


def run(made, **changed):
    given = {
        "accelerator": H100, "accelerators_count": 1, "method": "full", "precision": "bf16", "weights": BF16,
        "optimizer": "adamw", "sharding": "none", "seq_tokens": 2048, "micro_batch_count": 1, "global_batch_count": 64,
        **changed,
    }  # fmt: skip
    return TrainingRun(model=made, **given)
