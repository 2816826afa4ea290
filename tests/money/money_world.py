"""A small world: one card, one model, a handful of offers; figures that are easy to check by hand."""

from decimal import Decimal

from cabida.facts.model import (
    Accelerator,
    ApiOffer,
    AttentionLayers,
    MlpLayers,
    Model,
    Offer,
    WeightFormat,
)
from cabida.plan import Candidate, Deployment, Parallel, TrainingRun
from cabida.quantity import Source

SAID = Source("a price page", "https://example.org/prices", "2026-11-20", "quoted")
CARD = Accelerator(
    id="h100-sxm-80", name="H100 SXM", vendor="NVIDIA", architecture="Hopper", capability="9.0", form_factor="SXM",
    segment="datacenter", year=2022, label_memory_bytes=80e9, usable_bytes=85e9, memory_kind="HBM3",
    memory_bytes_per_s=3.35e12, flop_per_s={"bf16": 989e12}, matmul_ratio=0.75, l2_bytes=5e7, tdp_w=700.0, pcie_gen=5,
    pcie_lanes=16, link_kind="nvlink4", link_bytes_per_s=450e9, link_domain_count=8, ecc=True, mig_instances_count=7,
    price_money=None, physical={}, confidence="A", notes="", source=SAID,
)  # fmt: skip
MODEL = Model(
    id="llama-3.1-8b", aliases=(), architecture="LlamaForCausalLM", task="llm", hidden_dim_count=4096,
    vocab_count=128256, tied_embeddings=False, attention=(AttentionLayers("full", 32, 32, 8, 128, 128),),
    mlp=(MlpLayers(32, 14336),), context_tokens=131072, params_count=8.03e9, active_params_count=8.03e9,
    extra_params_count=0.0, native_format="bf16", unquantised_params_count=0.0, licence="", checkpoint_bytes=None,
    source=SAID,
)  # fmt: skip
BF16 = WeightFormat("bf16", (), 16, 16, 16, "bf16", "bf16", SAID)
API = ApiOffer(
    id="api", provider="Somewhere", model="llama-3.1-8b", model_name="8b", input_amount=Decimal("0.20"),
    output_amount=Decimal("0.60"), cached_input_amount=Decimal("0.05"), batch_input_amount=Decimal("0.10"),
    batch_output_amount=Decimal("0.30"), currency="USD", seen="2026-11-20", effective="", notes="", source=SAID,
)  # fmt: skip


def offer(amount="2.00", capacity="on-demand", **more):
    """An offer for the card at ``amount`` US dollars; anything else by name."""
    plain = {
        "id": f"{capacity}-{amount}", "provider": "Somewhere", "provider_kind": "neocloud", "accelerator": CARD.id,
        "accelerators_count": 1, "region": "", "country": "DE", "capacity": capacity, "term_months": 0,
        "upfront_ratio": 0.0, "amount": Decimal(amount), "unit": "accelerator" if capacity == "buy" else
        "accelerator_hour", "currency": "USD", "seen": "2026-11-20", "effective": "", "sighting": "page",
        "sample_count": 1, "low_amount": None, "high_amount": None, "condition": "", "notes": "", "source": SAID,
    }  # fmt: skip
    return Offer(**(plain | more))


def deployment(tp=1, accelerator=CARD):
    return Deployment(MODEL, accelerator, Parallel(tp=tp), BF16, BF16, "vllm")


def serving(priced, replicas=2, spares=0, tp=1, accelerator=CARD):
    return Candidate(
        "c", deployment(tp, accelerator), offer=priced, replicas_count=replicas, spare_replicas_count=spares
    )


def training(priced, count=8):
    run = TrainingRun(
        model=MODEL, accelerator=CARD, accelerators_count=count, method="full", precision="bf16", weights=BF16,
        optimizer="adamw", sharding="fsdp", seq_tokens=4096, micro_batch_count=1, global_batch_count=64,
    )  # fmt: skip
    return Candidate("t", run=run, offer=priced)
