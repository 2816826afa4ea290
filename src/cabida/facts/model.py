"""The nouns of the world: what an accelerator, a model, an engine or an offer is.

Every record carries its source. A field may have a source of its own in ``field_sources``;
``None`` means "not seen", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from cabida.quantity import Quantity, Source, leaf


class Sourced:
    """Mix-in for records: turns one of their fields into a ``Quantity`` with its source."""

    __slots__ = ()

    source: Source
    field_sources: dict[str, Source]

    def source_of(self, name: str) -> Source:
        """The source of one field (``flop_per_s``) or table entry (``flop_per_s.fp8``): the nearest one given."""
        own = self.field_sources.get(name) or self.field_sources.get(name.partition(".")[0])
        return own or self.source

    def quantity(self, name: str, value: float | None = None) -> Quantity:
        """Field ``name`` as a leaf of an explain tree; ``value`` replaces it (say, one entry of a table)."""
        return leaf(name, getattr(self, name) if value is None else value, self.source_of(name))


@dataclass(frozen=True, slots=True)
class Accelerator(Sourced):
    """One GPU or other accelerator, as the operating system shows it."""

    id: str
    name: str
    vendor: str
    architecture: str  # "Hopper", "Ada", "CDNA3": key into the software matrix, lower case there
    capability: str  # CUDA compute capability "9.0" or gfx name "gfx942"; "" when neither applies
    form_factor: str  # SXM, PCIe, NVL, OAM, desktop, unified
    segment: str  # datacenter, workstation, consumer, apple, tpu
    year: int | None
    label_memory_bytes: float  # what the vendor prints on the box
    usable_bytes: float  # what the driver shows; by a stated rule where nobody printed it (grade derived)
    memory_kind: str
    memory_bytes_per_s: float | None
    flop_per_s: dict[str, float]  # DENSE, by type: fp32 tf32 bf16 fp16 fp8 int8 fp4 fp64; absent = not seen
    matmul_ratio: float | None  # best measured matrix-multiply rate over the dense bf16 rate
    l2_bytes: float | None
    tdp_w: float | None
    pcie_gen: int | None
    pcie_lanes: int | None
    link_kind: str  # "nvlink4", "xgmi", "none", ...
    link_bytes_per_s: float | None  # one way, per accelerator, to all peers together; None without a link
    link_domain_count: int  # how many accelerators share that link; 1 when there is none
    ecc: bool | None
    mig_instances_count: int | None
    price_money: float | None  # list price, USD, when seen
    physical: dict[str, str]  # power connector, slots, length_mm, recommended_psu_w: as printed
    confidence: str  # A, B or C
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MigProfile(Sourced):
    """One way to cut a slice out of an accelerator, and how many such slices there can be at once."""

    id: str  # "h100-80:3g.40gb"
    name: str  # "3g.40gb", as nvidia-smi writes it
    accelerators: tuple[str, ...]  # Accelerator.id of those that can be cut so
    usable_bytes: float  # of one instance, as the driver shows it
    compute_slices_count: int
    compute_of_count: int  # of how many
    memory_slices_count: int
    memory_of_count: int
    instances_count: int
    source: Source
    multiprocessors_count: int = 0  # of one instance, 0 = not seen
    multiprocessors_of_count: int = 0
    field_sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node(Sourced):
    """A machine shape: how many accelerators, how they are tied together and to other machines."""

    id: str
    provider: str
    accelerator: str  # Accelerator.id
    accelerators_count: int
    fabric: str
    link_bytes_per_s: float | None  # one way per accelerator inside the node
    network_bytes_per_s: float | None  # one way, whole node, to other nodes
    network_kind: str
    ram_bytes: float | None
    nvme_bytes: float | None
    power_w: float | None
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collective(Sourced):
    """One measured collective: bus bandwidth at one size over one link."""

    op: str  # all_reduce, all_gather, reduce_scatter, all_to_all, p2p
    link: str
    accelerators_count: int
    nodes_count: int
    payload_bytes: float
    bus_bytes_per_s: float
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    id: str = ""
    link_kind: str = ""  # as in Accelerator.link_kind; "" when the setup is not fit for a curve
    accelerator: str = ""  # Accelerator.id when the part is certain
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Measurement(Sourced):
    """One measured rate of a machine that is not a collective: matrix multiply, memory, bus, storage."""

    id: str
    kind: str  # matmul | hbm_bandwidth | pcie_or_p2p | storage | attention
    accelerator: str  # Accelerator.id when the part is certain, else as printed
    what: str  # operation, shape, type
    value: float
    unit: str  # flop_per_s | bytes_per_s
    fraction_ratio: float | None  # of the dense or nominal rate, when printed
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttentionLayers:
    """A group of alike sequence-mixing layers."""

    kind: str  # full | sliding | mla | linear
    layers_count: int
    heads_count: int = 0
    kv_heads_count: int = 0  # 0 outside linear = the layer reads an earlier layer's keys and values
    head_dim_count: int = 0  # size of one key (and query) head
    v_head_dim_count: int = 0  # size of one value head
    window_tokens: int = 0  # sliding only
    latent_dim_count: int = 0  # MLA: compressed key-value rank
    rope_dim_count: int = 0  # MLA: rotary part kept beside the latent
    query_latent_dim_count: int = 0  # MLA: compressed query rank, 0 when queries are not compressed
    state_elements_count: int = 0  # linear: recurrent state one sequence keeps in one layer
    conv_elements_count: int = 0  # linear: convolution state one sequence keeps in one layer
    params_count: float = 0.0  # weights of one such layer's mixer; 0 = to be worked out from the shapes
    biases: bool = False
    state_bits: int = 16  # linear: how wide the recurrent state is kept (the convolution state is 16 bit)
    index_dim_count: int = 0  # sparse attention: size of the index key cached beside each token
    tokens_per_entry_count: int = 1  # compressed caches: how many tokens share one cached entry
    replicated_params_count: float = 0.0  # of params_count: what every tensor-parallel rank holds whole


@dataclass(frozen=True, slots=True)
class MlpLayers:
    """A group of alike feed-forward layers."""

    layers_count: int
    intermediate_dim_count: int  # of one expert when experts_count > 0
    matrices_count: int = 3  # 3 gated (SwiGLU), 2 plain
    experts_count: int = 0  # 0 = dense
    experts_per_token_count: int = 0
    shared_intermediate_dim_count: int = 0  # all shared experts together, 0 = none


@dataclass(frozen=True, slots=True)
class Tower:
    """A vision tower as it runs: its widths, and what the largest image its processor admits comes to."""

    layers_count: int
    hidden_dim_count: int
    intermediate_dim_count: int
    pixels_dim_count: int  # values of one patch
    kept_dim_count: int  # values of one patch that outlive the layers: for the projector and from it
    patches_per_image_count: int
    tokens_per_image_count: int  # tokens of the language model that one image takes
    cross_attended: bool = False  # read by cross-attention: encoded for every sequence at once


@dataclass(frozen=True, slots=True)
class StoredPart:
    """What the headers of a checkpoint count for one component of the model, scales and zero points included."""

    part: str  # embedding, head, attention, mlp, experts, router, norm, extra (towers), table (of each layer), draft
    size_bytes: float  # as loaded: 32-bit floats of a 16-bit model count as 16 bit
    params_count: float  # 0 when packed, so that they can't be told from the shapes


@dataclass(frozen=True, slots=True)
class Model(Sourced):
    """A model's architecture: enough to count its weights, its state and its work."""

    id: str
    aliases: tuple[str, ...]
    architecture: str  # "LlamaForCausalLM"; "" when not seen
    task: str  # llm, embedding, rerank, image, video, speech, vlm
    hidden_dim_count: int
    vocab_count: int
    tied_embeddings: bool
    attention: tuple[AttentionLayers, ...]
    mlp: tuple[MlpLayers, ...]
    context_tokens: int | None
    params_count: float | None  # as published; None = work it out
    active_params_count: float | None
    extra_params_count: float  # vision tower, projector, learned positions: kept in 16 bit
    native_format: str  # weight format of the published checkpoint: bf16, fp8, mxfp4, nvfp4, awq-int4 ...
    unquantised_params_count: float  # what a quantised checkpoint keeps in 16 bit beyond its embeddings
    licence: str
    checkpoint_bytes: float | None  # exact, from safetensors or GGUF headers when a path was given
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    draft_params_count: float = 0.0  # multi-token prediction layers: loaded only where they are used
    stored: tuple[StoredPart, ...] = ()  # component by component, when headers were read
    container: str = ""  # what those headers were of: safetensors | gguf
    tower: Tower | None = None  # how its images are encoded, when its config says so
    looked_up_params_count: float = 0.0  # of extra_params_count: embeddings of each layer, never multiplied
    rotary_dim_count: int = (
        0  # elements of a head that rotate with its position, all tables of angles together
    )
    half_overflows: bool = False  # doesn't run in fp16: a card without bf16 holds it in 32 bit
    bidirectional: bool = False  # every token sees all others: nothing of one batch is kept for the next

    @property
    def layers_count(self) -> int:
        """All sequence-mixing layers."""
        return sum(group.layers_count for group in self.attention)

    @property
    def is_moe(self) -> bool:
        """Whether any feed-forward layer routes tokens to experts."""
        return any(group.experts_count for group in self.mlp)


@dataclass(frozen=True, slots=True)
class WeightFormat(Sourced):
    """How weights (or cached keys and values) are stored."""

    id: str
    aliases: tuple[str, ...]
    body_bits: float  # per weight of the quantised matrices, scales and zero points included
    head_bits: float  # embedding and output head
    other_bits: float  # norms, routers, vision towers, whatever the format leaves alone
    compute: str  # the tensor rate that multiplies it: bf16, fp8, int8, fp4
    family: str  # bf16, fp8, int8, int4, fp4, gguf, bnb
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    embedding_bits: float = 0.0  # input embedding of an untied model where it isn't the head's; 0 = head_bits


@dataclass(frozen=True, slots=True)
class Engine(Sourced):
    """A serving engine or a training framework, with what it runs on."""

    id: str  # vllm, sglang, tensorrt-llm, llama.cpp, transformers, ...
    name: str
    kind: str  # serve | train
    versions: tuple[str, ...]  # known ones, oldest first; the last is the default
    # family, or one format of it -> architectures (lower case) it runs on
    formats: dict[str, tuple[str, ...]]
    capability_min: str
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)

    def architectures(self, weights: WeightFormat) -> tuple[str, ...]:
        """Those it runs a format on: by the format's own line where there is one, else by its family's."""
        return self.formats.get(weights.id) or self.formats.get(weights.family, ())


@dataclass(frozen=True, slots=True)
class Offer(Sourced):
    """A dated price for accelerators: one sighting, never overwritten."""

    id: str
    provider: str
    provider_kind: str  # hyperscaler, neocloud, marketplace, serverless, retail, owned
    accelerator: str  # Accelerator.id
    accelerators_count: int  # sold together; 1 when sold one by one
    region: str
    country: str  # ISO code, "EU", or "" when not stated
    capacity: str  # on-demand | spot | reserved | block | serverless | buy | have
    term_months: int  # 0 = none
    upfront_ratio: float
    amount: Decimal  # per accelerator-hour, or per accelerator when capacity is buy
    unit: str  # accelerator_hour | accelerator
    currency: str
    seen: str  # ISO date, "" when unknown
    effective: str
    sighting: str  # page, api, table, analyst, quote, user, bill, catalogue, dataset
    sample_count: int
    low_amount: Decimal | None
    high_amount: Decimal | None
    condition: str  # new, used, ""
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    form_factor: str = ""  # as sold: SXM, PCIe, NVL ...; "" = not said beyond the accelerator
    fraction_ratio: float = 1.0  # share of a whole accelerator that one unit of the price holds
    node_shape: str = ""  # the provider's instance type
    minimum_count: int = 1  # fewest accelerators the price is given for
    includes: tuple[str, ...] = ()  # host, storage, egress, ib, support ... inside the amount; () = not said
    median_amount: Decimal | None = None  # of sample_count prices; low and high are then p25 and p75
    until: str = ""  # last ISO date it holds; "" = not said
    tax_ratio: float = 0.0  # tax inside the amount, over the amount without it


@dataclass(frozen=True, slots=True)
class ApiRate:
    """One line of a provider's price list: what one kind of use costs, and when that price holds.

    ``unit``: input, cache_read, cache_write, cache_write_1h, output, reasoning, input_image, input_audio, output_image,
    output_audio (per million tokens), requests (per thousand).
    """

    unit: str
    amount: Decimal
    above_tokens: int = 0  # holds for prompts longer than this, for all their tokens
    hours_utc: str = ""  # "01:00-04:00" when it holds only then; "" = whenever no other line does
    mode: str = ""  # "batch"; "" = answered at once


@dataclass(frozen=True, slots=True)
class ApiOffer(Sourced):
    """A dated price of a model behind an API, per million tokens."""

    id: str
    provider: str
    model: str  # Model.id when the served model is one we know, else the provider's name
    model_name: str  # as the provider prints it
    input_amount: Decimal
    output_amount: Decimal
    cached_input_amount: Decimal | None
    batch_input_amount: Decimal | None
    batch_output_amount: Decimal | None
    currency: str
    seen: str
    effective: str
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    hours_utc: str = ""  # "00:30-16:30" when the price holds only then, "else" for other hours, "" = always
    tier_above_tokens: int | None = None  # prompts longer than this pay tier_input_amount
    tier_input_amount: Decimal | None = None
    cache_write_amount: Decimal | None = None
    rates: tuple[ApiRate, ...] = ()  # the whole price list; () = the amounts above are all that is known
    until: str = ""  # first day on which the price no longer holds
    elsewhere: tuple[tuple[str, ...], ...] = ()  # another source's (what, input, output) for the same thing
    names: tuple[str, ...] = ()  # others it is asked for by, moving ones ("-latest") among them


@dataclass(frozen=True, slots=True)
class EnergyFact(Sourced):
    """Electricity price, PUE, carbon intensity, residual value, colocation: one dated figure for one place."""

    kind: str
    place: str
    code: str
    value: float
    unit: str
    date: str
    notes: str
    source: Source
    field_sources: dict[str, Source] = field(default_factory=dict)
    id: str = ""
