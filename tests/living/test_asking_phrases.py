"""What is understood of a question: its kind, and what it names."""

import json
from importlib import resources

import pytest

from cabida.app.asking.intents import intents, names, nearest, read
from cabida.app.asking.slots import slots
from cabida.text import tr, use_language

PHRASES = [
    ("What's the best GPU for training?", "best_training"),
    ("best gpu for fine-tuning llama-3.1-8b", "best_training"),
    ("Which card should I get to train a 70B model?", "best_training"),
    ("¿Cuál es la mejor GPU para entrenar modelos?", "best_training"),
    ("¿Qué tarjeta conviene para ajuste fino de qwen3-32b?", "best_training"),
    ("best GPU for inference", "best_inference"),
    ("cheapest gpu to run llama-3.3-70b", "best_inference"),
    ("Which GPU for serving gpt-oss-120b?", "best_inference"),
    ("¿Cuál es la mejor GPU para inferencia?", "best_inference"),
    ("¿Qué GPU es la más barata para servir qwen3-32b?", "best_inference"),
    ("what hardware do I need for deepseek-r1", "best_inference"),
    ("Is H200 always better than H100?", "better"),
    ("Is the B200 always cheaper than the H200?", "better"),
    ("is an L40S better than an A100", "better"),
    ("¿Es la H200 siempre mejor que la H100?", "better"),
    ("¿La 5090 es mejor que la 4090?", "better"),
    ("When should I use an L40S instead of an H100?", "instead"),
    ("L40S rather than H100 for llama-3.1-8b?", "instead"),
    ("¿Cuándo usar una L40S en vez de una H100?", "instead"),
    ("¿L4 en lugar de A10?", "instead"),
    ("2x 4090 or 1x A6000?", "either"),
    ("two 3090s vs one A6000", "either"),
    ("RTX 5090 vs RTX 4090 for qwen3-32b", "either"),
    ("¿2 x RTX 4090 o una A6000?", "either"),
    ("compara H100 y H200", "either"),
    ("difference between A100 and H100", "either"),
    ("¿4 L4 o 1 L40S?", "either"),
    ("rent or API for llama-3.3-70b?", "rent_or_api"),
    ("Should I use an API or self-host llama-3.1-8b?", "rent_or_api"),
    ("¿API o alquilar para llama-3.3-70b con 2 millones de peticiones al mes?", "rent_or_api"),
    ("at what volume does self-hosting beat the api for qwen3-32b", "rent_or_api"),
    ("rent or buy an H100?", "rent_or_buy"),
    ("Should I buy or rent a 4090 for 8 hours a day?", "rent_or_buy"),
    ("¿Compro o alquilo una 4090?", "rent_or_buy"),
    ("¿Comprar o alquilar 8 H100 para 10 horas al día?", "rent_or_buy"),
    ("when does owning an A100 pay off", "rent_or_buy"),
    ("cloud or own an RTX 5090", "rent_or_buy"),
    ("How do I avoid overbuying?", "overbuy"),
    ("how not to overbuy GPUs", "overbuy"),
    ("¿Cómo evito comprar de más?", "overbuy"),
    ("Am I overprovisioned with 4 H100 for llama-3.1-8b at 10 requests per second?", "overbuy"),
    ("how much headroom do I need", "overbuy"),
    ("How much VRAM does qwen3-32b need?", "needed"),
    ("how much memory for qwen3 235b at 32k context", "needed"),
    ("VRAM requirements of gpt-oss-120b", "needed"),
    ("how much vram to fine-tune llama-3.1-8b", "needed"),
    ("¿Cuánta memoria necesita llama-3.3-70b en int4?", "needed"),
    ("¿cuánta VRAM hace falta para qwen3-32b?", "needed"),
    ("Does llama-3.3-70b fit on an H200?", "fit"),
    ("can a 4090 run qwen3-32b?", "fit"),
    ("Can I run a 70B on 2x 3090?", "fit"),
    ("¿Cabe llama-3.1-8b en una 4090?", "fit"),
    ("¿Puedo ejecutar gpt-oss-20b en una RTX 4080?", "fit"),
    ("will deepseek-r1 fit on 8 H200 with 32k context", "fit"),
    ("is 24 GB enough memory for gemma 3 27b on a 3090", "fit"),
    ("¿Puede una L4 con llama-3.1-8b?", "fit"),
    ("How many users can an H100 serve with llama-3.1-8b?", "serve"),
    ("how many requests per second does an L40S handle with llama-3.1-8b", "serve"),
    ("¿Cuántos usuarios aguanta una H100 con llama-3.1-8b?", "serve"),
    ("how fast is llama-3.1-8b on a 4090", "serve"),
    ("¿Cuántas peticiones por segundo da una L4 con llama-3.1-8b?", "serve"),
    ("How much does llama-3.3-70b cost a month at 5 requests per second?", "month_cost"),
    ("cost of running llama-3.1-8b on an L4", "month_cost"),
    ("¿Cuánto cuesta al mes llama-3.1-8b con 100000 peticiones al día?", "month_cost"),
    ("what would it cost per month to host qwen3-32b", "month_cost"),
    ("¿Cuánto me cuesta tener llama-3.3-70b en H100?", "month_cost"),
    ("Which quantization should I use for llama-3.3-70b on an H100?", "quantisation"),
    ("best quant for qwen3-32b on a 4090", "quantisation"),
    ("¿Qué cuantización uso para llama-3.3-70b en una H100?", "quantisation"),
    ("Can I fine-tune llama-3.1-8b on a 4090?", "fine_tune"),
    ("QLoRA llama-3.3-70b on 2x 4090?", "fine_tune"),
    ("¿Puedo hacer LoRA de llama-3.1-8b en una 3090?", "fine_tune"),
    ("¿Puedo afinar qwen3-32b en una H100?", "fine_tune"),
    ("can i train llama-3.1-8b on 8 H100", "fine_tune"),
    ("Does the A100 support FP8?", "compatible"),
    ("Is NVFP4 supported on H100?", "compatible"),
    ("¿La T4 soporta bf16?", "compatible"),
    ("does vllm run fp8 on an L40S", "compatible"),
    ("¿Funciona INT8 en la V100?", "compatible"),
    ("Can I split an H100 with MIG?", "mig"),
    ("MIG slices of an A100 for llama-3.1-8b", "mig"),
    ("¿Qué particiones MIG tiene la H100?", "mig"),
    ("Should I buy a used 3090?", "used"),
    ("used RTX 3090 for 700 USD?", "used"),
    ("¿Vale la pena una 3090 de segunda mano?", "used"),
    ("Is $2.50 per hour a good price for an H100?", "price"),
    ("is the price of an H200 fair", "price"),
    ("¿Es 2,50 € la hora un buen precio para una H100?", "price"),
    ("¿Está caro un H100 a 30000 dólares?", "price"),
    ("Why this option?", "why"),
    ("why did the H100 win?", "why"),
    ("¿Por qué gana esta opción?", "why"),
    ("Why not the H200?", "why_not"),
    ("¿Por qué no la L40S?", "why_not"),
    ("why isn't the API chosen", "why_not"),
    ("What would change the answer?", "change"),
    ("¿Qué cambiaría la respuesta?", "change"),
    ("How sure are you?", "sure"),
    ("¿Qué tan seguro es?", "sure"),
    ("What should I measure first?", "measure"),
    ("¿Qué debería medir?", "measure"),
    ("Which GPU for a student?", "profile"),
    ("GPU for a startup", "profile"),
    ("¿Qué GPU para una gran empresa?", "profile"),
    ("¿Qué compro si soy estudiante?", "profile"),
    ("What is an L40S good for?", "what_for"),
    ("¿Para qué sirve la A100?", "what_for"),
]
SLOTS = [
    ("2x RTX 4090 or 1 x A6000?", {"cards": (("rtx4090", 2), ("a6000", 1))}),
    ("two 3090s vs a H100 PCIe", {"cards": (("rtx3090", 2), ("h100-pcie-80", None))}),
    ("¿Es 2,50 € la hora un buen precio para una H100?", {"money": 2.5, "currency": "EUR", "hourly": True}),
    ("A100 for 8,500 USD", {"money": 8500.0, "currency": "USD", "hourly": False}),
    ("llama-3.1-8b con 100.000 peticiones al día", {"requests_per_s": 100_000 / 86_400}),
    ("API at 2 million requests per month", {"requests_per_s": 2e6 / 2_628_000}),
    ("8 H100 para 10 horas al día", {"cards": (("h100-sxm-80", 8),), "hours_per_day": 10.0}),
    ("50 users with 32k context", {"users": 50.0, "context_tokens": 32_768}),
    ("QLoRA of a 70B on 2 x 3090", {"method": "qlora", "model_taken": True, "cards": (("rtx3090", 2),)}),
    (
        "does vllm run nvfp4 on a B200",
        {"engine": "vllm", "formats": ("nvfp4",), "cards": (("b200-sxm-180", None),)},
    ),
    ("q4_k_m on a 4090", {"formats": ("q4_k_m",)}),
    ("Llama 3.3 70B on MI300X", {"models": ("meta-llama/Llama-3.3-70B-Instruct",), "model_taken": False}),
    ("llama 8b in 4 bits", {"formats": ("awq-int4",), "model_taken": True}),
    (
        "llama-3.1-8b with 20 million requests per month",
        {"models": ("meta-llama/Llama-3.1-8B",), "requests_per_s": 20e6 / 2_628_000},
    ),
    ("nothing at all", {"cards": (), "models": (), "formats": (), "money": None}),
]


@pytest.mark.parametrize(("question", "intent"), PHRASES)
def test_a_question_is_understood(question, intent):
    found = read(question)
    assert found is not None
    assert found.intent == intent


@pytest.mark.parametrize(("question", "named"), SLOTS)
def test_what_a_question_names_is_found(question, named):
    found = slots(question)
    for name, value in named.items():
        assert getattr(found, name) == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("name", names())
def test_the_example_of_each_kind_is_understood_as_that_kind(name, language):
    use_language(language)
    found = read(tr(f"asking.example.{name}"))
    assert found is not None
    assert found.intent == name


@pytest.mark.parametrize("question", ["sing me a song", "hola", "¿qué hora es?", "42", "?"])
def test_what_is_no_question_of_ours_is_not_guessed(question):
    assert read(question) is None


def test_each_pattern_stands_for_something_that_is_asked():
    told = json.loads(
        resources.files("cabida.app.asking").joinpath("intents.json").read_text(encoding="utf-8")
    )
    assert len(told) == len(intents())
    assert {intent for _, intent in PHRASES} == set(names())


def test_nearest_questions_come_first():
    assert "fit" in nearest("fit llama h200 maybe")[0]
