"""Accelerators side by side: none leads where it is said not to belong."""

from cabida.report import compare


def test_what_has_no_link_does_not_lead_in_training_over_many(monkeypatch):
    prices = {"l40s": 0.1, "rtx4090": 0.2}  # so cheap that they have the most of anything for it
    monkeypatch.setattr(compare, "_price", lambda one, *_: (prices.get(one.id, 4.0), 1, "2026-11-30"))
    found = compare.comparison(["l40s", "h100-sxm-80", "a100-sxm-80"])
    leads = {(one["workload"], one["figure"]): one["best"] for one in found["matters"]}
    assert leads["batch-inference", "bf16_tflops/price"] == ["l40s"]
    assert leads["pretraining", "bf16_tflops/price"] == ["h100-sxm-80"]
    alone = compare.comparison(["l40s", "rtx4090"])
    assert any(one["workload"] == "pretraining" for one in alone["matters"])
