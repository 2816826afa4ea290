"""A decision made by hand, in both languages: what every form of the report is tested with."""

from cabida.plan import (
    Assumption,
    Caution,
    CostLine,
    Decision,
    Estimate,
    Flip,
    Measurement,
    Option,
    Rejection,
)

GIB = 2**30
SAY = {
    "en": {
        "answer": "Rent 4 H100 SXM reserved for a year: 2 replicas of Llama-3.3-70B in FP8 on vLLM hold your peak "
        "of 12 requests per second for 14,900 EUR a month.",
        "keep": "Keep 4×L40S, rent 1×H200 on demand in office hours",
        "api": "Model API, provider B",
        "misses": "TTFT p95 is 1.2 s at the peak of 12 requests per second; the objective is 800 ms.",
        "upto": "Meets it up to 8.1 requests per second.",
        "boundary": "Data would leave the EU (limits.data).",
        "memory": "Needs 150 GiB of weights; 8 GPUs of 24 GiB leave nothing for the KV cache.",
        "reserved": "2 replicas × 2×H100 SXM · FP8 · vLLM · reserved 1 year, provider A (Paris)",
        "h200": "2 replicas × 1×H200 · FP8 · vLLM · on demand, provider C",
        "rej": [
            (
                "CB-X010",
                "3,020 do not fit: the weights alone exceed usable memory by 3 GiB or more",
                3020,
                "1×L40S BF16",
            ),
            (
                "CB-X011",
                "1,411 are too slow: the lower bound of ITL p95 is above 50 ms",
                1411,
                "4×A100 40 GB BF16",
            ),
            (
                "CB-X012",
                "552 do not run: the engine has no FP8 kernels below compute capability 8.9",
                552,
                "A100 FP8",
            ),
            ("CB-X013", "228 are dominated: another option costs less and is no slower", 228, "8×H100 SXM"),
        ],
        "acc": (
            "acceptance of awq-int4",
            "0.94",
            "Nobody measured it; taken equal to FP8.",
            "200 real prompts",
        ),
        "store": (
            "storage",
            "120 EUR/month",
            "The brief is silent; 500 GB of block storage.",
            "Ask the provider",
        ),
        "flip_use": "Below 31 % of today's traffic the API wins (if data may leave the EU).",
        "flip_price": "Above 3.90 EUR per H100-hour the H200 wins.",
        "flip_acc": "INT4 wins only while its acceptance stays above 92.6 %.",
        "flip_none": "Output length changes nothing between half and double.",
        "meas": ("One hour of your own traffic on 2×H100", "settles 1 against 2"),
        "warn": [
            ("CB-K041", "1 price is 41 days old.", "warning"),
            ("CB-K007", "The guide's rule of 800 GB/s would reject the L4.", "info"),
        ],
        "source": "H100 SXM reserved price page",
    },
    "es": {
        "answer": "Alquile 4 H100 SXM reservadas un año: 2 réplicas de Llama-3.3-70B en FP8 con vLLM aguantan su "
        "pico de 12 peticiones por segundo por 14.900 EUR al mes.",
        "keep": "Conservar 4×L40S y alquilar 1×H200 bajo demanda en horario de oficina",
        "api": "API de modelos, proveedor B",
        "misses": "El TTFT p95 es de 1,2 s en el pico de 12 peticiones por segundo; el objetivo es 800 ms.",
        "upto": "Lo cumple hasta 8,1 peticiones por segundo.",
        "boundary": "Los datos saldrían de la Unión Europea (limits.data).",
        "memory": "Necesita 150 GiB de pesos; 8 GPU de 24 GiB no dejan nada para la caché KV.",
        "reserved": "2 réplicas × 2×H100 SXM · FP8 · vLLM · reserva de 1 año, proveedor A (París)",
        "h200": "2 réplicas × 1×H200 · FP8 · vLLM · bajo demanda, proveedor C",
        "rej": [
            (
                "CB-X010",
                "3.020 no caben: los pesos solos superan la memoria útil en 3 GiB o más",
                3020,
                "1×L40S BF16",
            ),
            (
                "CB-X011",
                "1.411 son demasiado lentos: la cota inferior de ITL p95 supera 50 ms",
                1411,
                "4×A100 40 GB BF16",
            ),
            (
                "CB-X012",
                "552 no funcionan: sin núcleos FP8 por debajo de capacidad de cómputo 8.9",
                552,
                "A100 FP8",
            ),
            ("CB-X013", "228 están dominados: otra opción cuesta menos y no es más lenta", 228, "8×H100 SXM"),
        ],
        "acc": (
            "aceptación de awq-int4",
            "0,94",
            "Nadie la midió; se toma la de FP8.",
            "200 peticiones reales",
        ),
        "store": (
            "almacenamiento",
            "120 EUR/mes",
            "El encargo no lo dice; 500 GB en bloque.",
            "Pregunte al proveedor",
        ),
        "flip_use": "Por debajo del 31 % del tráfico de hoy gana la API (si los datos pueden salir de Europa).",
        "flip_price": "Por encima de 3,90 EUR por hora de H100 gana la H200.",
        "flip_acc": "INT4 solo gana mientras su aceptación supere el 92,6 %.",
        "flip_none": "La longitud de la respuesta no cambia nada de la mitad a dos veces.",
        "meas": ("Una hora de su propio tráfico en 2×H100", "decide entre 1 y 2"),
        "warn": [
            ("CB-K041", "1 precio tiene 41 días.", "warning"),
            ("CB-K007", "La regla de 800 GB/s de la guía descartaría la L4.", "info"),
        ],
        "source": "Página de precios de H100 SXM reservada",
    },
}


def near(value, spread=0.2, basis="calibrated"):
    return Estimate(value, value * (1 - spread), value * (1 + spread), basis)


def option(rank, name, title, status, reasons=(), **changes):
    month = changes.pop("month", 14900.0)
    ttft = changes.pop("ttft", 540.0)
    gib = changes.pop("usable_gib", 79.18)
    api = changes.get("accelerator", "h100-sxm-80") == ""
    fields = {
        "accelerator": "h100-sxm-80",
        "accelerators_count": 4,
        "replicas_count": 2,
        "spare_replicas_count": 0,
        "split": "tp2",
        "weights": "fp8",
        "kv_cache": "fp8",
        "engine": "vllm",
        "engine_version": "0.20.1",
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "provider": "Provider A",
        "capacity": "reserved",
        "region": "Paris",
        "price_seen": "2026-10-20",
        "metrics": {
            "ttft_ms_p50": near(ttft * 0.6, 0.25),
            "ttft_ms_p95": near(ttft, 0.3),
            "ttft_ms_p99": near(ttft * 1.5, 0.35),
            "itl_ms_p95": near(31.0, 0.13),
            "e2e_ms_p95": near(9400.0, 0.15),
            "capacity_req_s": near(changes.pop("holds", 13.4), 0.18),
            "output_tok_s": near(month / 3.8, 0.15),
        },
        "memory": {"weights": 33.1, "kv_cache": 22.0, "activations": 2.7, "graphs": 1.1, "other": 1.2},
        "usable_bytes": gib * GIB,
        "latency_quantiles": {
            "ttft_ms": tuple(ttft * r for r in (0.3, 0.36, 0.4, 0.48, 0.6, 0.74, 0.9, 1.0, 1.5))
        },
        "cost_lines": (
            CostLine("compute", month * 0.62),
            CostLine("idle", month * 0.14),
            CostLine("storage", 120.0),
            CostLine("observability", 180.0),
            CostLine("platform_labour", month * 0.24 - 300.0),
        ),
        "cost_per_month_money": month,
        "unit_cost": near(month / 7_095_238, 0.2),
        "best_probability": 0.0,
        "expected_regret_money": 0.0,
        "command": "",
    } | changes
    if not api:
        fields["memory"] = {key: value * GIB for key, value in fields["memory"].items()}
        fields["memory"]["headroom"] = fields["usable_bytes"] - sum(fields["memory"].values())
    return Option(rank=rank, id=name, title=title, status=status, reasons=tuple(reasons), **fields)


def decision(language="en"):
    say = SAY[language]
    command = (
        "vllm serve meta-llama/Llama-3.3-70B-Instruct --tensor-parallel-size 2 --quantization fp8 "
        "--kv-cache-dtype fp8 --max-model-len 16384"
    )
    api = {"accelerator": "", "accelerators_count": 0, "replicas_count": 0, "split": "", "weights": ""}
    api |= {"kv_cache": "", "engine": "", "engine_version": "", "capacity": "api", "provider": "Provider B"}
    api |= {
        "memory": {},
        "usable_bytes": 0.0,
        "latency_quantiles": {},
        "metrics": {"ttft_ms_p95": near(700.0, 0.4)},
    }
    options = (
        option(
            1,
            "a",
            say["reserved"],
            "chosen",
            best_probability=0.71,
            expected_regret_money=0.00009,
            command=command,
            trees={"cost_per_month_money": 1, "weights_bytes": 4},
        ),
        option(
            2,
            "b",
            say["h200"],
            "satisfies",
            month=16800.0,
            ttft=610.0,
            holds=15.2,
            usable_gib=140.4,
            accelerator="h200-sxm-141",
            accelerators_count=2,
            split="tp1",
            provider="Provider C",
            capacity="on-demand",
            region="Frankfurt",
            memory={"weights": 66.2, "kv_cache": 48.0, "activations": 2.7, "graphs": 1.4, "other": 0.9},
            best_probability=0.24,
            command=command.replace("-size 2", "-size 1"),
        ),
        option(
            3,
            "c",
            say["keep"],
            "misses",
            [say["misses"], say["upto"]],
            month=12700.0,
            ttft=1200.0,
            holds=8.1,
            usable_gib=44.4,
            accelerator="l40s",
            memory={"weights": 17.4, "kv_cache": 20.2, "activations": 2.4, "graphs": 1.0, "other": 1.2},
            best_probability=0.05,
        ),
        option(4, "d", say["api"], "ruled_out", [say["boundary"]], month=9800.0, **api),
        option(
            5,
            "e",
            "8×RTX 3090",
            "ruled_out",
            [say["memory"]],
            month=7400.0,
            ttft=3900.0,
            holds=2.1,
            usable_gib=23.6,
            accelerator="rtx-3090-24",
            accelerators_count=8,
            weights="bf16",
            latency_quantiles={},
            memory={"weights": 18.9, "kv_cache": 0.0, "activations": 2.9, "graphs": 1.2, "other": 1.3},
        ),
    )
    tree = (
        {
            "id": 1,
            "name": "cost_per_month_money",
            "value": 14900.0,
            "unit": "money",
            "equation": "total(compute_money, labour_money)",
            "inputs": [{"param": "compute_money", "id": 2}, {"param": "labour_money", "id": 3}],
            "source": None,
            "grade": "quoted",
            "low": 13200.0,
            "high": 16700.0,
        },
        {
            "id": 2,
            "name": "compute_money",
            "value": 11324.0,
            "unit": "money",
            "equation": "accelerators_count * price_money_per_hour * hours_per_month",
            "inputs": [5, 6],
            "source": None,
            "grade": "quoted",
            "low": 10100.0,
            "high": 12600.0,
        },
        {
            "id": 3,
            "name": "labour_money",
            "value": 3576.0,
            "unit": "money",
            "equation": "",
            "inputs": [],
            "source": {"what": "brief: team", "url": "", "seen": "2026-11-30", "grade": "quoted"},
            "grade": "quoted",
            "low": 3576.0,
            "high": 3576.0,
        },
        {
            "id": 4,
            "name": "weights_bytes",
            "value": 33.1 * GIB,
            "unit": "B",
            "equation": "params_count * body_bits / 8 / accelerators_count",
            "inputs": [6, 7],
            "source": None,
            "grade": "vendor",
            "low": 33.0 * GIB,
            "high": 33.4 * GIB,
        },
        {
            "id": 5,
            "name": "price_money_per_hour",
            "value": 3.1,
            "unit": "money/h",
            "equation": "",
            "inputs": [],
            "source": {
                "what": say["source"],
                "url": "https://example.org/prices?a=1&b=2",
                "seen": "2026-10-20",
                "grade": "quoted",
            },
            "grade": "quoted",
            "low": 2.8,
            "high": 3.4,
        },
        {
            "id": 6,
            "name": "accelerators_count",
            "value": 4.0,
            "unit": "",
            "equation": "",
            "inputs": [],
            "source": {"what": "this option", "url": "", "seen": "", "grade": "derived"},
            "grade": "derived",
            "low": 4.0,
            "high": 4.0,
        },
        {
            "id": 7,
            "name": "params_count",
            "value": 70.55e9,
            "unit": "",
            "equation": "",
            "inputs": [],
            "source": {"what": "config.json", "url": "", "seen": "2026-11-30", "grade": "vendor"},
            "grade": "vendor",
            "low": 70.55e9,
            "high": 70.55e9,
        },
    )
    return Decision(
        name="support-chat",
        workload="realtime-inference",
        verdict="satisfied",
        answer=say["answer"],
        language=language,
        brief={
            "name": "support-chat",
            "objectives": {"latency_s": {"ttft": {"p95": 0.8}, "itl": {"p95": 0.05}}},
        },
        brief_text="name: support-chat\nworkload: realtime-inference\n",
        as_of="2026-11-30",
        made_at="2026-11-30T09:40:00+00:00",
        version="0.1.0",
        facts_digest="3f9a1c2b7d40",
        seed=0,
        currency="EUR",
        denominator="accepted_answer",
        candidates_count=5214,
        elapsed_s=2.1,
        options=options,
        rejections=tuple(Rejection(*row) for row in say["rej"]),
        assumptions=(Assumption(*say["acc"]), Assumption(*say["store"])),
        warnings=tuple(Caution(*row) for row in say["warn"]),
        flips=(
            Flip("utilisation", "%", 100.0, 31.0, "d", say["flip_use"]),
            Flip("price", "EUR/h", 3.1, 3.9, "b", say["flip_price"]),
            Flip("acceptance", "%", 94.0, 92.6, "a", say["flip_acc"]),
            Flip("output_tokens", "tokens", 290.0, None, "", say["flip_none"]),
        ),
        measurements=(Measurement(*say["meas"], 2400.0, 30.0, "cabida bench plan support-chat.yaml"),),
        sources=(
            {
                "what": say["source"],
                "url": "https://example.org/prices?a=1&b=2",
                "seen": "2026-10-20",
                "grade": "quoted",
            },
            {"what": "config.json", "url": "", "seen": "2026-11-30", "grade": "vendor"},
        ),
        trees=tree,
    )
