"""The files that start an option, held against the schemas and parsers of those who read them."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.launch.setups import setup_of
from cabida.launch.start import start_of
from cabida.launch.systemd import word_of
from cabida.launch.written import files, forms_of
from cabida.plan import Deployment, Parallel, Settings, Setup
from cabida.plan.setup import deployment
from cabida.report.store import load
from cabida.text import dns_label

GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "decision.en.json"
COMPOSE = Draft202012Validator(get_builtin_schema("vendor.compose-spec"))
VERSIONS = ("1.30", "1.34")
HOSTILE = "x: {a}\n- b # \"';$(touch pwned)`id`&*!|>%@\x07\u202e${HOME}%n"


@pytest.fixture(scope="module")
def decision():
    return load(GOLDEN)


@pytest.fixture
def option(decision):
    return decision.options[0]


def serving(decision, option, **more):
    """An option on vLLM over ``gpus`` H100."""
    plain = {
        "engine": "vllm", "engine_version": "0.14.0", "accelerator": "h100-sxm-80", "model": "meta-llama/Llama-3.1-8B",
        "command": "# vllm 0.14.0\nvllm serve meta-llama/Llama-3.1-8B \\\n  --tensor-parallel-size 2",
        "setup": {"kind": "serving", "gpus": 2, "accelerators_per_node": 8}, "replicas_count": 3,
        "spare_replicas_count": 1,
    }  # fmt: skip
    return replace(option, **(plain | more))


def documents(text):
    return list(yaml.safe_load_all(text))


def test_compose_is_what_the_specification_says(decision, option):
    found = files(decision, serving(decision, option), "compose")["compose.yaml"]
    (document,) = documents(found)
    assert not list(COMPOSE.iter_errors(document))
    assert list(COMPOSE.iter_errors({**document, "services": {"engine": {"imag": "x"}}}))
    service = document["services"]["engine"]
    assert service["command"][:3] == ["vllm", "serve", "meta-llama/Llama-3.1-8B"]
    assert service["command"][-2:] == ["--host", "0.0.0.0"]
    assert service["image"].startswith("vllm/vllm-openai:v0.14.0")
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_are_what_kubernetes_says(decision, option, version):
    found = documents(files(decision, serving(decision, option), "kubernetes")["kubernetes.yaml"])
    assert [one["kind"] for one in found] == [
        "PersistentVolumeClaim",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
    ]
    for document in found:
        kubernetes_validate.validate(document, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            {**found[1], "spec": {**found[1]["spec"], "replics": 1}}, version, strict=True
        )
    spec = found[1]["spec"]
    assert spec["replicas"] == 4
    (container,) = spec["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert found[3]["spec"]["minAvailable"] == 3


def test_a_replica_of_several_machines_is_a_group_with_a_leader(decision, option):
    many = serving(
        decision, option, command="vllm serve m --tensor-parallel-size 8 --pipeline-parallel-size 2",
        setup={"kind": "serving", "gpus": 16, "accelerators_per_node": 8},
    )  # fmt: skip
    found = documents(files(decision, many, "kubernetes")["kubernetes.yaml"])
    group = found[1]
    assert group["kind"] == "LeaderWorkerSet"
    template = group["spec"]["leaderWorkerTemplate"]
    assert template["size"] == 2
    for pod in (template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"]):
        wrapped = {
            **documents(files(decision, serving(decision, option), "kubernetes")["kubernetes.yaml"])[1]
        }
        labels = wrapped["spec"]["template"]["metadata"]
        wrapped["spec"] = {**wrapped["spec"], "template": {"metadata": labels, "spec": pod}}
        kubernetes_validate.validate(wrapped, VERSIONS[-1], strict=True)
    with pytest.raises(InvalidInput, match="CB-L004"):
        files(decision, many, "compose")
    assert set(files(decision, many, "all")) >= {"kubernetes.yaml"}


def test_sglang_over_machines_takes_its_rank_from_the_group(decision, option):
    ranked = '--node-rank "${NODE_RANK:?}" --dist-init-addr "${HEAD_ADDRESS:?}"'
    command = f"python -m sglang.launch_server --model-path m --nnodes 2 {ranked}"
    many = serving(
        decision, option, engine="sglang", engine_version="0.5.5", command=command,
        setup={"kind": "serving", "gpus": 16, "accelerators_per_node": 8},
    )  # fmt: skip
    found = documents(files(decision, many, "kubernetes")["kubernetes.yaml"])[1]
    script = found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["command"][2]
    assert '--node-rank "$LWS_WORKER_INDEX"' in script
    assert "NODE_RANK" not in script.replace("LWS", "")
    subprocess.run(["bash", "-n", "-c", script], check=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not on this machine")
def test_the_unit_is_one(decision, option, tmp_path):
    (name, text), *_ = files(decision, serving(decision, option), "systemd").items()
    unit = tmp_path / name
    unit.write_text(text.replace("/usr/bin/docker", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "ExecStart" not in done.stderr, done.stderr


def test_words_of_a_unit_are_told_as_systemd_reads_them():
    assert word_of("plain-1.2/x:y") == "plain-1.2/x:y"
    assert word_of("a b") == '"a b"'
    assert word_of('say "x"\\') == '"say \\"x\\"\\\\"'
    assert word_of("100%") == "100%%"
    assert word_of("$HOME") == "$$HOME"
    assert word_of("a\nb") == '"a\\x0ab"'


def test_an_api_has_nothing_to_start(decision, option):
    api = replace(option, accelerator="", provider="Someone", command="")
    with pytest.raises(InvalidInput, match="CB-L001"):
        start_of(decision, api)
    with pytest.raises(InvalidInput, match="CB-L008"):
        files(decision, serving(decision, option), "slurm")
    with pytest.raises(InvalidInput, match="CB-L009"):
        app.launch_files(decision, option="99")


@pytest.mark.parametrize(
    "form", [one for one in forms_of("serving") if one in ("compose", "kubernetes", "systemd")]
)
def test_hostile_names_are_data(decision, option, form):
    odd = serving(
        decision,
        option,
        model=HOSTILE,
        command=f"# {' '.join(HOSTILE.split())}\nvllm serve 'a b' --served-model-name x",
    )
    named = replace(decision, name=HOSTILE)
    (text,) = files(named, odd, form).values()
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "touch pwned" not in "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    if form != "systemd":
        assert documents(text)
    else:
        assert 'serve "a b"' in text


@pytest.mark.parametrize(
    "setup", [{"gpus": -1}, {"gpus": 1e30}, {"gpus": 1.5}, {"x": "y" * 500}, {"x": None}]
)
def test_a_setup_that_nobody_wrote_is_refused(decision, option, setup):
    with pytest.raises(InvalidInput, match="CB-L003"):
        start_of(decision, serving(decision, option, setup=setup))
    with pytest.raises(InvalidInput, match="CB-L003"):
        start_of(decision, serving(decision, option, command="vllm 'unclosed"))


def test_a_slice_and_an_amd_card_are_asked_for_by_their_names(decision, option):
    sliced = start_of(decision, serving(decision, option, accelerator="h100-sxm-80:3g.40gb"))
    assert sliced.resource == "nvidia.com/mig-3g.40gb"
    amd = serving(decision, option, accelerator="mi300x", engine_version="0.19.0")
    service = documents(files(decision, amd, "compose")["compose.yaml"])[0]["services"]["engine"]
    assert "/dev/kfd" in service["devices"]
    assert "rocm" in service["image"]
    found = documents(files(decision, amd, "kubernetes")["kubernetes.yaml"])[1]
    assert found["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] == {"amd.com/gpu": 2}


@settings(max_examples=40)
@given(st.text(max_size=80))
def test_a_label_is_one(name):
    found = dns_label(name)
    assert 0 < len(found) <= 42
    assert found[0].isalpha()
    assert found[-1] != "-"
    assert all(one.isascii() and (one.isalnum() or one == "-") for one in found)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_a_setup_is_what_fit_and_speed_take(engine):
    model, card = facts.model("meta-llama/Llama-3.1-8B"), facts.accelerator("h100-sxm-80")
    made = Deployment(
        model, card, Parallel(tp=2), facts.weight_format("bf16"), facts.weight_format("bf16"), engine, "",
        Settings(max_model_len=8192, max_num_seqs=64, enforce_eager=True), facts.node_for(card),
    )  # fmt: skip
    plain = setup_of(made)
    assert json.loads(json.dumps(plain)) == plain
    beside = ("kind", "nodes", "accelerators_per_node")
    flags = {name: value for name, value in plain.items() if name not in beside}
    assert deployment(Setup(**flags), model, card) == made


def test_the_command_prints_and_writes(decision, tmp_path):
    found = app.launch_files(decision, out=tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == set(found)
    script = next(tmp_path.glob("*.sh"))
    assert script.stat().st_mode & 0o100
    subprocess.run(["bash", "-n", script], check=True)


def test_the_command_offers_the_forms_there_are():
    from cabida.faces import commands_launch
    from cabida.launch import written

    assert set(commands_launch.FORMS) == {"all", "shell", *written.FORMS}


@pytest.mark.parametrize(("engine", "version"), [("vllm", "0.14.0"), ("sglang", "0.5.9")])
def test_a_service_of_skypilot_listens_to_its_probes(decision, option, engine, version):
    command = f"# {engine}\n{engine} serve --model meta-llama/Llama-3.1-8B"
    one = serving(decision, option, engine=engine, engine_version=version, command=command)
    task = yaml.safe_load(files(decision, one, "skypilot")["skypilot.yaml"])
    assert task["run"].rstrip().endswith("--host 0.0.0.0")
