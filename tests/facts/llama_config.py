"""An ordinary decoder's config.json, for tests to change."""

from cabida.facts.architectures import from_config
from cabida.quantity import Source

SOURCE = Source("a test", seen="2026-11-30", grade="measured")
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def read(**changes):
    config = {**LLAMA, **changes}
    return from_config({name: value for name, value in config.items() if value is not None}, SOURCE)
