"""Any model of the catalogue under any engine, split and setting: the fast path is the tree, intervals hold figures."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import facts, memory
from cabida.plan import Deployment, Parallel, Settings

NAMES = [one.id for one in facts.models().values() if one.task in ("llm", "vlm")]
CARDS = list(facts.accelerators())
ENGINES = [
    ("vllm", "0.5.4"), ("vllm", "0.8.5"), ("vllm", "0.11"), ("vllm", ""), ("vllm-gfx906", ""), ("sglang", "0.4"),
    ("sglang", ""), ("tensorrt-llm", "0.16"), ("tensorrt-llm", ""), ("lmdeploy", ""), ("llama.cpp", "b2000"),
    ("llama.cpp", ""), ("ollama", ""), ("transformers", "4.30"), ("transformers", ""), ("autoawq", ""),
]  # fmt: skip
FORMATS = ["bf16", "fp8", "awq-int4", "gptq-int4", "bnb-nf4", "bnb-nf4-dq", "q4_k_m", "mxfp4", "nvfp4"]

setups = st.builds(
    Settings,
    max_model_len=st.sampled_from([None, 1, 4096, 1_000_000]),
    max_num_seqs=st.sampled_from([None, 1, 16, 4096]),
    enforce_eager=st.booleans(),
    prefix_caching=st.booleans(),
    draft_tokens=st.sampled_from([0, 3]),
    lora_slots=st.sampled_from([0, 4]),
    decode_context_parallel_size=st.sampled_from([1, 2]),
    cpu_offload_bytes=st.sampled_from([0.0, 8e9]),
    language_model_only=st.booleans(),
    skip_mm_profiling=st.booleans(),
)
splits = st.builds(
    Parallel, tp=st.sampled_from([1, 2, 8]), pp=st.sampled_from([1, 3]), dp=st.sampled_from([1, 2]),
    ep=st.sampled_from([1, 8]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(NAMES), st.sampled_from(CARDS), st.sampled_from(ENGINES), st.sampled_from(FORMATS), splits, setups
)  # fmt: skip
def test_the_fast_path_is_the_tree_whatever_is_asked(name, card, engine, held, split, asked):
    d = Deployment(
        facts.models()[name], facts.accelerators()[card], split, facts.weight_format(held),
        facts.weight_format("bf16"), *engine, asked,
    )  # fmt: skip
    m = memory.serving(d)
    assert m.weights_bytes >= 0
    assert m.required_kv_bytes >= 0
    assert m.verdict in ("fits", "tight", "no")
    for figure, node in memory.serving_tree(d).items():
        fast, low_high = getattr(m, figure), node.interval
        assert math.isclose(float(node), fast, rel_tol=1e-9, abs_tol=1e-3), figure
        assert low_high[0] <= float(node) <= low_high[1], figure
