"""How each layer mixes its tokens: attention of every shape, read from a config layer by layer.

A reader returns one list of mixers per layer (most layers have one, a parallel hybrid has two, a layer of a
patterned hybrid may have none). Recurrent mixers are in :mod:`cabida.facts.recurrent`.
"""

from __future__ import annotations

from dataclasses import replace

from cabida.facts.families import Family
from cabida.facts.fields import LAYERS_MOST, Fields
from cabida.facts.model import AttentionLayers

Layers = list[list[AttentionLayers]]


def layers_count(f: Fields) -> int:
    """How many layers the config names, or its list of layer kinds has."""
    kinds = f.items("layers_block_type")
    return len(kinds) if kinds else f.count("num_hidden_layers", least=1, most=LAYERS_MOST)


def attention(f: Fields, family: Family) -> Layers:
    """Attention in every layer: full, sliding or chunked windows, or a compressed latent (MLA)."""
    layers = layers_count(f)
    windows = _windows(f, family, layers)
    if f.raw("kv_lora_rank"):
        return [[latent(f, layer)] for layer in range(layers)]
    if f.varies:
        return [_listed(f.at(layer), family, window) for layer, window in enumerate(windows)]
    shared_from = layers - f.count("num_kv_shared_layers", 0, most=layers)
    share = (
        f.count("cla_share_factor", 1, least=1) if f.truth("use_cla", default=False) else 1
    )  # arXiv 2405.12981
    whole, local = full(f, family), _local(f, family)
    mixed: Layers = []
    for layer, window in enumerate(windows):
        one = replace(local, kind="sliding", window_tokens=window) if window else whole
        reads = layer >= shared_from or layer % share > 0
        mixed.append([_reading_earlier(one, f) if reads else _indexed(one, f, layer)])
    return mixed


def _listed(f: Fields, family: Family, window: int) -> list[AttentionLayers]:
    """One layer of a model whose config lists heads layer by layer; none when it lists no heads."""
    if f.raw("num_attention_heads") == 0 or f.raw("num_key_value_heads") == 0:
        return []
    return [replace(_local(f, family), window_tokens=window)] if window else [full(f, family)]


def encoder(f: Fields, family: Family) -> Layers:
    """Bidirectional attention: nothing is cached between calls, but the work is the same."""
    return [[full(f, family)] for _ in range(layers_count(f))]


def encoder_decoder(f: Fields, family: Family) -> Layers:
    """Encoder layers, which cache nothing, then decoder layers over themselves and over the encoder (T5, Whisper)."""
    one = full(f, family)
    decoders = f.count("num_decoder_layers", layers_count(f), most=LAYERS_MOST)
    encoder = replace(
        one, kv_heads_count=0, params_count=attention_params(one, f.count("hidden_size", least=1))
    )
    return [[encoder] for _ in range(layers_count(f))] + [[one, one] for _ in range(decoders)]


def nothing(f: Fields, family: Family) -> Layers:
    """A convolutional network: its weights are told by the published total, it has no layers of ours."""
    del f, family
    return []


def crossed(f: Fields, family: Family) -> Layers:
    """Decoder layers of which some look at the image instead of at the text (Llama 3.2 Vision).

    The crossing layers cache the image's tokens, not the text's: nothing per text token.
    """
    crossing = f.places("cross_attention_layers")
    one = full(f, family)
    params = attention_params(one, f.count("hidden_size", least=1))
    beside = replace(one, kv_heads_count=0, params_count=params)
    return [[beside if layer in crossing else one] for layer in range(layers_count(f))]


def block_configs(f: Fields, family: Family) -> Layers:
    """A searched architecture (NAS): each block says how many queries share a key, or drops its attention."""
    one = full(f, family)
    blocks = f.items("block_configs")
    if not blocks:
        raise f.lacks(["block_configs"])
    mixed: Layers = []
    for block in blocks:
        part = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(part, dict):
            raise f.wrong(block, "block_configs", '{"attention": {...}, "ffn": {...}}')
        group = part.get("n_heads_in_group")
        skipped = part.get("no_op") or part.get("replace_with_linear") or not group
        heads = one.heads_count
        mixed.append(
            []
            if skipped
            else [replace(one, kv_heads_count=max(1, heads // f.whole("n_heads_in_group", group, 1, heads)))]
        )
    return mixed


def shared_query(f: Fields, family: Family) -> Layers:
    """Factorised attention: queries of all heads come from one narrow space, one key and value serve them all.

    Step-3 (arXiv 2507.19427); every rank keeps what leads into that space whole.
    """
    one, hidden = full(f, family), f.count("hidden_size", least=1)
    narrow, wide = f.count("share_q_dim", least=1), one.heads_count * one.head_dim_count
    whole = hidden * (narrow + one.kv_heads_count * (one.head_dim_count + one.v_head_dim_count))
    params = float(whole + narrow * wide + wide * hidden)
    one = replace(one, params_count=params, replicated_params_count=float(whole))
    return [[one] for _ in range(layers_count(f))]


def full(f: Fields, family: Family) -> AttentionLayers:
    """One layer of ordinary attention, with the shapes its config gives."""
    heads = f.count("num_attention_heads", least=1, most=65536)
    hidden = f.count("hidden_size", least=1)
    dim = _head_dim(f, heads, hidden)
    kv_heads = _kv_heads(f, heads)
    global_heads = f.count("num_global_key_value_heads", kv_heads, least=1, most=heads)
    global_dim = f.count("global_head_dim", dim, least=1, most=65536)
    values = f.count("v_head_dim", global_dim, least=1, most=65536)
    one = AttentionLayers("full", 1, heads, global_heads, global_dim, values, biases=_biases(f, family))
    if f.truth("attention_k_eq_v", default=False):
        one = replace(one, params_count=attention_params(one, hidden) - hidden * global_heads * global_dim)
    return _gated(one, f, hidden)


def _head_dim(f: Fields, heads: int, hidden: int) -> int:
    """The size of a head, by default its part of the width, which can't be nothing."""
    if not f.has("head_dim") and heads > hidden:
        raise f.wrong(heads, "num_attention_heads", f"1..{hidden}")
    return f.count("head_dim", hidden // heads, least=1, most=65536)


def _local(f: Fields, family: Family) -> AttentionLayers:
    """One sliding layer: the shapes of the full one unless the config has ``swa_`` shapes of its own."""
    heads = f.count("num_attention_heads", least=1, most=65536)
    heads = f.count("swa_num_attention_heads", heads, least=1, most=65536)
    hidden = f.count("hidden_size", least=1)
    dim = f.count("swa_head_dim", _head_dim(f, heads, hidden), least=1, most=65536)
    kv_heads = f.count("swa_num_key_value_heads", _kv_heads(f, heads), least=1, most=heads)
    values = f.count("swa_v_head_dim", f.count("v_head_dim", dim), least=1, most=65536)
    return _gated(
        AttentionLayers("sliding", 1, heads, kv_heads, dim, values, biases=_biases(f, family)), f, hidden
    )


def latent(f: Fields, layer: int = 0) -> AttentionLayers:
    """One layer of multi-head latent attention (DeepSeek-V2, arXiv:2405.04434), with its indexer if it has one."""
    hidden = f.count("hidden_size", least=1)
    heads = f.count("num_attention_heads", least=1, most=65536)
    rope = f.count("qk_rope_head_dim", most=65536)
    key = f.count("qk_nope_head_dim", least=1, most=65536) + rope
    one = AttentionLayers(
        "mla",
        1,
        heads,
        1,
        key,
        f.count("v_head_dim", least=1, most=65536),
        latent_dim_count=f.count("kv_lora_rank", least=1),
        rope_dim_count=rope,
        query_latent_dim_count=f.count("q_lora_rank", 0),
    )
    if f.truth("mla_use_output_gate", default=False):
        one = replace(one, params_count=attention_params(one, hidden) + hidden * heads * one.v_head_dim_count)
    return _indexed(one, f, layer)


def _indexed(one: AttentionLayers, f: Fields, layer: int) -> AttentionLayers:
    """The layer with the index keys of sparse attention (DeepSeek-V3.2, GLM-5, MiniMax-M3) if it has them."""
    if f.raw("index_head_dim") is None and f.raw("sparse_attention_config") is None:
        return one
    hidden = f.count("hidden_size", least=1)
    dim, heads = f.count("index_head_dim", 0), f.count("index_n_heads", 0)
    kinds = f.items("indexer_types")
    if layer < len(kinds) and kinds[layer] != "full":
        return one
    sparse = f.mapping("sparse_attention_config")
    if sparse:
        turns = sparse.get("sparse_attention_freq")
        if isinstance(turns, list) and layer < len(turns) and not turns[layer]:
            return one
        dim = f.whole("sparse_index_dim", sparse.get("sparse_index_dim", 0), most=65536)
        heads = f.whole("sparse_num_index_heads", sparse.get("sparse_num_index_heads", 0), most=65536)
    if not dim or not heads:
        return one
    query = (one.query_latent_dim_count or hidden) * heads * dim
    index = (
        query + hidden * dim + hidden * heads
    )  # every rank picks for all heads: the indexer is whole on each
    whole = index + hidden * (one.latent_dim_count + one.rope_dim_count + one.query_latent_dim_count)
    params = attention_params(one, hidden) + index
    return replace(one, index_dim_count=dim, params_count=params, replicated_params_count=float(whole))


def compressed(f: Fields, family: Family) -> Layers:
    """DeepSeek-V4: one shared key-value head, a short window, and beside it a cache of compressed tokens.

    ``compress_ratios`` says per layer how many tokens share an entry (0: the window only). The layers with the
    small ratio also keep an index key per entry.
    """
    layers = layers_count(f)
    hidden, heads = f.count("hidden_size", least=1), f.count("num_attention_heads", least=1, most=65536)
    dim = f.count("head_dim", least=1, most=65536)
    ratios = f.per_layer("compress_ratios", layers)
    if not ratios:
        raise f.lacks(["compress_ratios"])
    query, groups, rank = (
        f.count("q_lora_rank", least=1),
        f.count("o_groups", 8),
        f.count("o_lora_rank", 1024),
    )
    params = hidden * query + query * heads * dim + hidden * dim + heads * dim * rank + groups * rank * hidden
    index = query * f.count("index_n_heads", 0) * f.count("index_head_dim", 0)
    mixed: Layers = []
    for entry in ratios:
        ratio = f.whole("compress_ratios", entry, most=65536)
        window = AttentionLayers(
            "sliding",
            1,
            heads,
            1,
            dim,
            0,
            window_tokens=f.count("sliding_window", 128),
            params_count=params,
            replicated_params_count=float(hidden * (query + dim)),
        )
        if not ratio:
            mixed.append([window])
            continue
        small = ratio < f.count("sliding_window", 128)
        beside = 2 * hidden * dim + (index + hidden * dim if small else 0)
        one = replace(
            window,
            kind="full",
            window_tokens=0,
            tokens_per_entry_count=ratio,
            params_count=params + beside,
            replicated_params_count=window.replicated_params_count + beside,
            index_dim_count=f.count("index_head_dim", 0) if small else 0,
        )
        mixed.append([one])
    return mixed


def attention_params(one: AttentionLayers, hidden: int) -> float:
    """Weights of one attention layer by its shapes, biases left out (they are below a thousandth)."""
    if one.params_count:
        return one.params_count
    heads, key, value = one.heads_count, one.head_dim_count, one.v_head_dim_count
    out = heads * value * hidden
    if one.kind != "mla":
        return hidden * (heads * key + one.kv_heads_count * (key + value)) + out
    query = one.query_latent_dim_count
    queries = query * (hidden + heads * key) if query else hidden * heads * key
    rank, rope = one.latent_dim_count, one.rope_dim_count
    return queries + hidden * (rank + rope) + rank * heads * (key - rope + value) + out


def _kv_heads(f: Fields, heads: int) -> int:
    if f.raw("num_key_value_heads") is None and f.raw("attn_config") is not None:
        return f.whole("attn_config.kv_n_heads", f.mapping("attn_config").get("kv_n_heads", heads), 1, heads)
    if f.truth("multi_query", default=False) and not f.truth("new_decoder_architecture", default=False):
        return 1
    return f.count("num_key_value_heads", heads, least=1, most=heads)


def _biases(f: Fields, family: Family) -> bool:
    for name in ("attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias", "enable_bias"):
        if f.raw(name) is not None:
            return f.truth(name, default=False)
    return family.biases


def _gated(one: AttentionLayers, f: Fields, hidden: int) -> AttentionLayers:
    """With the output gate of Qwen3-Next and its kin: as many weights again as the queries have."""
    default = f.model_type in ("qwen3_next", "qwen3_5", "qwen3_5_moe", "afmoe")
    if not f.truth("attn_output_gate", default=default):
        return one
    gate = hidden * one.heads_count * one.head_dim_count
    return replace(one, params_count=attention_params(one, hidden) + gate)


def _reading_earlier(one: AttentionLayers, f: Fields) -> AttentionLayers:
    """A layer that reads an earlier layer's keys and values: it has none of its own (Gemma 3n, Gemma 4 E)."""
    hidden, key = f.count("hidden_size", least=1), one.head_dim_count
    return replace(one, kv_heads_count=0, params_count=2.0 * hidden * one.heads_count * key)


def _windows(f: Fields, family: Family, layers: int) -> list[int]:
    """The window of each layer, 0 where it sees everything."""
    window = f.count("sliding_window", 0)
    chunk = f.count("attention_chunk_size", 0)
    kinds = f.per_layer("layer_types", layers)
    if kinds:
        size = {"sliding_attention": window, "chunked_attention": chunk or window}
        return [size.get(kind, 0) if isinstance(kind, str) else 0 for kind in kinds]
    marks = f.per_layer("hybrid_layer_pattern", layers)
    if marks:
        return [window if mark == 1 else 0 for mark in marks]
    if f.model_type == "llama4":
        window = chunk
    return [window if _slides(f, family, layer) else 0 for layer in range(layers)]


def _slides(f: Fields, family: Family, layer: int) -> bool:
    """Whether the family's code makes this layer a sliding one when no list says so."""
    if family.window == "all":
        return True
    if family.window == "even":
        return layer % 2 == 0
    if family.window == "upper":
        return f.truth("use_sliding_window", default=False) and layer >= f.count("max_window_layers", 0)
    if family.window.startswith("every"):
        pattern = f.raw("sliding_window_pattern") or f.raw("_sliding_window_pattern")
        if isinstance(pattern, str):
            return pattern[layer % len(pattern)] == "L"
        every = f.whole("sliding_window_pattern", pattern, 1) if pattern else int(family.window.split()[1])
        return (layer + 1) % every != 0
    return False
