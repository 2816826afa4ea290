"""Corpora and harnesses in a brief: read, written back, inferred, and what can't be."""

from dataclasses import replace

import pytest

from cabida.brief import complete, parse_brief
from cabida.brief.render import render
from cabida.errors import InvalidInput

AS_OF = "2026-11-30"
CORPUS = """
name: corpus
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: 0.9}}]
retrieval:
  documents: 200 k
  document_tokens: 1800
  chunk_tokens: 400
  overlap: 10 %
  embedder: BAAI/bge-m3
  reranker: BAAI/bge-reranker-v2-m3
  candidates: 40
  passages: 6
  recall: 97 %
  updated_per_day: 3000
  reembeddings_per_year: 2
  reembedding_window: 24 h
  moderation_per_request: 0.0001 EUR
traffic: {requests_per_s: {mean: 3, peak: 9}, input_tokens: {p50: 350, p95: 900}, output_tokens: 200}
objectives: {ttft_p95: 2 s}
limits: {data: EU, needed_by: 2027-02-01}
currency: EUR
"""
HARNESS = """
name: harness
models: [meta-llama/Llama-3.1-8B-Instruct]
evaluation:
  tasks:
    - {name: exams, kind: choices, samples: 14042, prompt_tokens: 110, shared_tokens: 600, choices: 4}
    - {name: sums, kind: generated, samples: 1319, prompt_tokens: 90, output_tokens: 180, runs: 3}
    - {name: style, kind: judged, samples: 400, prompt_tokens: 350, output_tokens: 400}
  models_per_month: 90
  judge: {model: meta-llama/Llama-3.3-70B-Instruct, where: own, votes: 2}
  accepted: 0.97
objectives: {deadline: 45 min}
limits: {data: any, needed_by: 2027-01-15}
"""


def read(text):
    return parse_brief(text, as_of=AS_OF)


def test_a_corpus_is_read():
    brief = read(CORPUS)
    found = brief.retrieval
    assert brief.workload == "retrieval"
    assert found.chunks_per_document == pytest.approx(1800 / 360)
    assert found.chunks_count == pytest.approx(1_000_000)
    assert (found.candidates_count, found.passages_count, found.recall_ratio) == (40, 6, 0.97)
    assert found.reembedding_s == 86_400
    assert found.moderation_money_per_request == pytest.approx(0.0001)


def test_a_harness_is_read():
    brief = read(HARNESS)
    found = brief.evaluation
    assert brief.workload == "evaluation"
    assert [task.verdicts_count for task in found.tasks] == [14042, 3957, 400]
    assert found.tasks[0].requests_count == 4 * 14042
    assert found.tasks[0].output_tokens == 1.0
    assert found.judgements_count == 800


@pytest.mark.parametrize("text", [CORPUS, HARNESS])
def test_written_back_it_is_the_same(text):
    brief = read(text)
    again = read(render(brief))
    for name in ("retrieval", "evaluation", "workload", "objectives"):
        assert getattr(again, name) == getattr(brief, name)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CORPUS.replace("passages: 6", "passages: 60"), "CB-B046"),
        (CORPUS.replace("embedder: BAAI/bge-m3", "embedder: Qwen/Qwen3-32B"), "CB-B047"),
        (CORPUS.replace("embedder: BAAI/bge-m3", "embedder: BAAI/bge-m33333"), "CB-B038"),
        (CORPUS.replace("chunk_tokens: 400", "chunk_tokens: 9000"), "CB-B033"),
        (CORPUS.replace("recall: 97 %", "recall: 1.2"), "CB-B011"),
        (CORPUS.replace("name: corpus", "name: corpus\nworkload: realtime-inference"), "CB-B030"),
        (
            HARNESS.replace(
                "  judge: {model: meta-llama/Llama-3.3-70B-Instruct, where: own, votes: 2}\n", ""
            ),
            "CB-B048",
        ),
        (HARNESS.replace("kind: judged", "kind: generated"), "CB-B049"),
        (HARNESS.replace("kind: choices", "kind: oral"), "CB-B018"),
        (HARNESS.replace("samples: 1319, ", ""), "CB-B014"),
        (HARNESS.replace("models: [meta-llama/Llama-3.1-8B-Instruct]", "models: [BAAI/bge-m3]"), "CB-B045"),
    ],
)
def test_what_cannot_be_says_where(text, code):
    with pytest.raises(InvalidInput) as caught:
        read(text)
    found = [problem for problem in caught.value.problems if problem.code == code]
    assert found, [str(problem) for problem in caught.value.problems]
    assert found[0].line > 0


def test_what_is_missing_is_asked():
    bare = "workload: evaluation\nmodels: [meta-llama/Llama-3.1-8B-Instruct]\nlimits: {data: any}\n"
    with pytest.raises(InvalidInput, match=r"evaluation\.tasks"):
        complete(read(bare), assume=True, as_of=AS_OF)
    with pytest.raises(InvalidInput, match=r"retrieval\.documents"):
        complete(read(CORPUS.replace("  documents: 200 k\n", "")), assume=True, as_of=AS_OF)
    done = complete(read(HARNESS.replace("  accepted: 0.97\n", "")), as_of=AS_OF)
    assert done.evaluation.accepted_ratio == 0.95
    assert "evaluation.accepted" in {item.path for item in done.assumed}
    done = complete(read(CORPUS.replace("  embedder: BAAI/bge-m3\n", "")), assume=True, as_of=AS_OF)
    assert done.retrieval == replace(read(CORPUS).retrieval, embedder="BAAI/bge-m3")
