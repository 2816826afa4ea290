"""schemathesis over the whole description: nothing breaks, and what is answered is what is described.

What is left out of its checks: that whatever fits the schema is taken (a brief may fit it and still lack what the
decision waits for), and, of forms, that what doesn't fit is refused (an empty field of a form is one left out).
"""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

ROOT = Path(__file__).parents[2]
NOT_PROMISED = ("positive_data_acceptance", "ignored_auth")  # the second: test_api_team
DECISION = json.loads((ROOT / "tests/report/golden/decision.en.json").read_text())
REAL = {  # values that lead beyond the first refusal
    "model": "llama-3.1-8b", "what": "llama-3.1-8b", "gpu": "h100-sxm-80", "ids": ["h100-sxm-80", "h200-sxm-141"],
    "decision": DECISION, "before": DECISION, "after": DECISION, "as_of": "2026-11-30", "weights": "fp8",
    "engine": "vllm", "currency": "EUR", "match": "llama", "question": ["does llama-3.3-70b fit on an H200?"],
    "brief": (ROOT / "examples/student-4090.yaml").read_text(), "profile": "office-hours", "in_use": "2 GB",
}  # fmt: skip
METHODS = ("get", "post", "put", "delete", "patch")


@pytest.fixture(scope="module")
def schema(served):
    return schemathesis.openapi.from_url(f"{served.url}/api/openapi.json")


def asked_for(schema, most, mode):
    """Requests of every operation, each answered and held against the description: how often each status came."""
    promised = [one for one in CHECKS.get_all() if one.__name__ not in NOT_PROMISED]
    statuses, wrong = Counter(), []

    for found in schema.get_all_operations():
        operation = found.ok()

        def held(case):
            chosen = random.Random(repr((case.body, case.query)))
            if mode is GenerationMode.POSITIVE:
                for part in (case.body, case.query):
                    for name in REAL if isinstance(part, dict) else ():
                        if name in part and chosen.random() < 0.8:
                            many = isinstance(part[name], list) and not isinstance(REAL[name], list)
                            part[name] = [REAL[name]] if many else REAL[name]
            if isinstance(case.query, dict) and case.query.get("wait"):
                case.query["wait"] = 0  # test_api_jobs waits
            form = (case.media_type or "").startswith("multipart")
            answer = case.call()
            statuses[answer.status_code] += 1
            lenient = form or answer.status_code == 414  # refused before it is read
            checks = [one for one in promised if not (lenient and one.__name__ == "negative_data_rejection")]
            try:
                case.validate_response(answer, checks=checks)
            except Exception as fault:
                wrong.append(str(fault)[:1500])

        if (
            mode is GenerationMode.NEGATIVE
            and operation.label.endswith("/tokens")
            and operation.method == "get"
        ):
            continue  # it takes nothing that could be wrong
        trying = given(case=operation.as_strategy(generation_mode=mode))(held)
        settings(
            max_examples=most, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(trying)()  # fmt: skip
    return statuses, wrong


def test_the_whole_description_is_kept_to(schema):
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        statuses, wrong = asked_for(schema, 3, mode)
        assert wrong == []
        assert statuses.total() > 200
    assert max(statuses) < 500


@pytest.mark.long
def test_the_whole_description_is_kept_to_at_length(schema):
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        statuses, wrong = asked_for(schema, 60, mode)
        assert wrong == []
        assert max(statuses) < 500


def test_every_operation_is_described(client):
    """Each has a summary, words about it, a group and its errors; each error in the one shape."""
    found = client.get("/api/openapi.json").json()
    names = []
    for path, methods in found["paths"].items():
        assert path.startswith("/api/v1/")
        for method, one in methods.items():
            assert method in METHODS
            names.append(one["operationId"])
            assert one["summary"]
            assert one["description"].rstrip().endswith((".", "`", "…", ")", "?", "]")), one["description"]
            assert one["tags"][0] in {group["name"] for group in found["tags"]}
            for status, answer in one["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"]
    assert len(names) == len(set(names)) > 70
