"""Releases of an engine that its coefficients tell apart."""

from __future__ import annotations

import pytest

from cabida.timing.engine.coefficients import passed_releases


@pytest.mark.parametrize(
    ("engine", "version", "passed"),
    [
        ("sglang", "0.5.8", ()),
        ("sglang", "0.5.9", ("0.5.9",)),
        ("sglang", "v0.5.10.post1", ("0.5.9", "0.5.10")),
        ("tensorrt-llm", "1.2.0rc6.post3", ("1.0", "1.2")),
        ("vllm", "0.9.2", ()),
        ("vllm", "0.19.0", ("0.11", "0.15", "0.18")),
        ("vllm", "nightly-5b8c30d62b754b57", ()),
        ("vllm", "", ("0.11", "0.15", "0.18")),
        ("lmdeploy", "0.7", ()),
    ],
)
def test_a_release_counts_from_itself_on(engine, version, passed):
    assert passed_releases(engine, version) == passed
