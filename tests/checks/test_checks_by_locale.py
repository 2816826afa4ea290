"""What a check said in one locale is not what it says in another, though both are Spanish."""

from cabida import facts
from cabida.checks.compatibility import compatibility
from cabida.checks.software import Stack, judge, runnable
from cabida.facts.formats import find_format
from cabida.plan import Deployment, Parallel
from cabida.text import locale, speaking


def test_verdicts_are_kept_by_locale(monkeypatch):
    heard = []

    def overheard(stack: Stack):
        heard.append(locale())
        return judge(stack)

    monkeypatch.setattr("cabida.checks.software.judge", overheard)
    card, held = facts.accelerator("rtx3090"), find_format("fp8")
    thing = Deployment(
        facts.model("llama-3.1-8b"), card, Parallel(), held, find_format("bf16"), "vllm", "0.15.9"
    )
    for code in ("es", "es-MX", "es", "es-MX"):
        with speaking(code):
            runnable(thing)
            compatibility(thing)
    assert heard == ["es", "es-MX"]
