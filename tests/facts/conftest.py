"""A hub on this machine, empty or with a small sharded checkpoint."""

import json

import pytest
from hub_server import CONFIG, REPO, serving
from test_checkpoint import TENSORS, written


@pytest.fixture
def site(monkeypatch, tmp_path):
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("CABIDA_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
        for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE", "CABIDA_ONLINE"):
            monkeypatch.delenv(name, raising=False)
        yield running


@pytest.fixture
def tiny(site):
    """A sharded checkpoint, complete."""
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    site.put(REPO, "config.json", json.dumps(CONFIG).encode())
    site.put(REPO, names[0], written(TENSORS[:3]))
    site.put(REPO, names[1], written(TENSORS[3:]))
    weight_map = {name: names[place >= 3] for place, (name, _, _) in enumerate(TENSORS)}
    site.put(REPO, "model.safetensors.index.json", json.dumps({"weight_map": weight_map}).encode())
    return site
