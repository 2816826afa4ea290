"""What stands in for what a case leaves unsaid."""

import pytest

from cabida.truth.disaggregated_case import decode_worker, missing_of
from cabida.truth.names import Unanswerable
from cabida.truth.serving_case import load_of, served, serving_figures
from cabida.truth.unstated import decode_workers_count, left_unsaid, lengths_of, rules, tokens_per_step

A_ROW = {
    "id": "x", "kind": "serving", "engine": "vllm", "engine_version": "0.10.0", "model": "meta-llama/Llama-3.1-8B",
    "weights": "fp8", "gpu": "h200-sxm-141", "gpus": 8, "mode": "serve", "measured": {"output_tok_s": 1.0},
    "load": {"input_tokens": 512, "output_tokens": 128, "concurrency": 16}, "source": "s",
}  # fmt: skip


def test_every_rule_says_where_it_is_from():
    found = rules()
    assert all(len(one["source"]) > 20 for one in found["lengths"])
    assert all(found[key]["source"] for key in ("decode_workers", "undeclared_speculation"))
    assert found["lengths"][-1]["words"] == ""  # the last fits any row


def test_named_data_sets_have_their_lengths_and_stated_ones_stand():
    named = A_ROW | {
        "load": {"dataset": "CNN/DailyMail (MLPerf)", "output_tokens": 128, "concurrency": "offline"}
    }
    assert lengths_of(named)[:2] == (778.0, 128.0)
    assert lengths_of(A_ROW) == (512.0, 128.0, None)
    assert "lengths" in left_unsaid(named)
    assert "lengths" not in left_unsaid(A_ROW)


def test_prompts_without_a_rate_come_all_at_once():
    queued = A_ROW | {"load": {"input_tokens": 512, "output_tokens": 128, "prompts": 100}}
    assert load_of(queued).concurrency == float("inf")
    with pytest.raises(Unanswerable):
        load_of(A_ROW | {"load": {"input_tokens": 512, "output_tokens": 128}})


def test_a_submission_that_keeps_its_split_to_itself_ran_replicas_of_a_small_model():
    d, _ = served(A_ROW | {"mode": "mlperf-offline", "load": A_ROW["load"] | {"concurrency": "offline"}})
    assert (d.parallel.tp, d.parallel.dp) == (1, 8)


def test_speculation_gives_more_tokens_a_step():
    suspected = A_ROW | {"tp": 8, "spec_decode": "suspected MTP"}
    assert tokens_per_step(A_ROW) == 1.0
    assert tokens_per_step(A_ROW | {"measured": {"accept_len": 2.5}}) == 2.5
    plain, quick = (serving_figures(row)["tpot_ms"][0] for row in (A_ROW | {"tp": 8}, suspected))
    assert quick == pytest.approx(plain / rules()["undeclared_speculation"]["tokens_per_step"])


def test_workers_that_are_not_counted_share_the_clients_out():
    note = "disaggregated: prefill workers  (tp4,adp1,ep4,bs), decode workers  (tp8,adp1,ep8,bs); rest"
    row = A_ROW | {"mode": "disagg", "note": note, "model": "deepseek-ai/DeepSeek-R1", "gpu": "b200-sxm-180"}
    row["load"] = row["load"] | {"concurrency": 64}
    _, load = decode_worker(row)
    assert load.concurrency == pytest.approx(64 / decode_workers_count(8))
    assert "workers" in missing_of(row)
    counted = row | {"note": note.replace("workers  (tp8", "workers 2 (tp8")}
    assert decode_worker(counted)[1].concurrency == pytest.approx(32)
