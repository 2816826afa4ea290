"""What puts a server on a machine says what the server takes, and is what its readers take."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft202012Validator

from cabida.faces.cli import cli
from cabida.faces.web.ops import Counts
from cabida.faces.web.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
COMPOSE = Draft202012Validator(get_builtin_schema("vendor.compose-spec"))
ADDRESS = "https://cabida.example.org"
KNOWN = {
    "CABIDA_STORE", "CABIDA_SESSION_KEY", "PGPASSWORD", "XDG_DATA_HOME", "XDG_CACHE_HOME", "PATH", "PYTHONUNBUFFERED",
}  # fmt: skip
OF_THE_FILES = {"CABIDA_ADDRESS", "CABIDA_PROXIES"}  # filled in by what starts the server, not read by it


def read(name):
    return (DEPLOY / name).read_text(encoding="utf-8")


def taken(words):
    """What the real command makes of the words, run no further; a word it doesn't know raises."""
    command = cli.get_command(None, words[0])
    for word in words[1:]:
        if hasattr(command, "get_command"):
            command = command.get_command(None, word)
    rest = [word for word in words[1:] if word not in ("upgrade",)]
    return command.make_context(words[0], rest).params


def filled(word):
    said = {"CABIDA_ADDRESS": ADDRESS, "CABIDA_PROXIES": "172.16.0.0/12"}
    return re.sub(r"\$[({](\w+)(?::[^)}]*)?[)}]", lambda found: said[found[1]], word)


def container():
    text = re.sub(r"\\\n", " ", read("Containerfile"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def said(word):
    return [rest for found, rest in container() if found == word]


@pytest.fixture(scope="module")
def manifest():
    return list(yaml.safe_load_all(read("kubernetes.yaml")))


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load(read("compose.yaml"))


def one(manifest, kind):
    (found,) = [document for document in manifest if document["kind"] == kind]
    return found


def pod(manifest):
    return one(manifest, "Deployment")["spec"]["template"]["spec"]


def unit():
    found = {}
    for line in read("cabida.service").splitlines():
        if line and line[0] not in "#[":
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


def test_the_image_is_made_from_what_is_let_into_it():
    extras = set(re.search(r"'\.\[([\w,]+)\]'", read("Containerfile"))[1].split(","))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"serve", "postgres", "mcp", "fast"} <= extras <= set(project["optional-dependencies"])
    copied = {word for line in said("COPY") if "--from" not in line for word in line.split()[:-1]}
    let_in = {line[1:] for line in read("Containerfile.dockerignore").splitlines() if line.startswith("!")}
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)
    assert {project["readme"], *project["license-files"]} <= copied
    needs = project["requires-python"].removeprefix(">=3.")
    assert all(int(re.match(r"python:3\.(\d+)-slim", line)[1]) >= int(needs) for line in said("FROM"))


def test_the_image_says_what_the_server_takes():
    (command,) = said("CMD")
    assert taken(json.loads(command))["host"] == "0.0.0.0"
    assert json.loads(said("ENTRYPOINT")[0]) == ["cabida"]
    assert said("EXPOSE") == [str(Settings().port)]
    assert said("STOPSIGNAL") == ["SIGTERM"]
    assert set(re.findall(r"([A-Z_]+)=", said("ENV")[0])) <= KNOWN
    assert f"http://127.0.0.1:{Settings().port}/healthz" in said("HEALTHCHECK")[0]


def test_everybody_is_the_same_user_who_may_write_to_the_same_two_places(manifest, compose):
    (user,) = said("USER")
    who = pod(manifest)["securityContext"]
    assert user == f"{who['runAsUser']}:{who['runAsGroup']}" == compose["services"]["server"]["user"]
    assert f"--uid {who['runAsUser']} " in read("Containerfile")
    places = {place["mountPath"] for place in pod(manifest)["containers"][0]["volumeMounts"]}
    server = compose["services"]["server"]
    assert places == {server["volumes"][0].split(":")[1], server["tmpfs"][0].split(":")[0]}
    assert said("VOLUME") == ["/var/lib/cabida"]
    for container in (*pod(manifest)["containers"], *pod(manifest)["initContainers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    for name in ("server", "schema"):
        assert compose["services"][name]["read_only"] is True
        assert compose["services"][name]["cap_drop"] == ["ALL"]


def test_compose_is_what_compose_says(compose):
    assert not list(COMPOSE.iter_errors(compose))
    assert list(COMPOSE.iter_errors(compose | {"services": {"server": {"imag": "x"}}}))
    server = compose["services"]["server"]
    asked = taken([filled(word) for word in server["command"]])
    assert (asked["behind"], asked["proxies"]) == (ADDRESS, "172.16.0.0/12")
    assert server["ports"] == [f"127.0.0.1:{Settings().port}:{Settings().port}"]
    assert set(server["environment"]) <= KNOWN
    taken(compose["services"]["schema"]["command"])
    typed = set(re.findall(r"\$\{(\w+):\?", read("compose.yaml")))
    assert typed == set(re.findall(r"^(CABIDA_\w+)=", PAGE[: PAGE.index("## Kubernetes")], re.MULTILINE))


@pytest.mark.parametrize("version", ["1.30", "1.34"])
def test_the_manifest_is_what_kubernetes_says(manifest, version):
    for document in manifest:
        kubernetes_validate.validate(document, version, strict=True)
    wrong = json.loads(json.dumps(one(manifest, "Deployment")))
    wrong["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_the_manifest_hangs_together(manifest):
    (server,) = pod(manifest)["containers"]
    config = one(manifest, "ConfigMap")["data"]
    assert set(config) <= KNOWN | OF_THE_FILES
    words = [re.sub(r"\$\((\w+)\)", lambda found: config[found[1]], word) for word in server["args"]]
    assert taken(words)["behind"] == config["CABIDA_ADDRESS"]
    taken(pod(manifest)["initContainers"][0]["args"])
    (port,) = server["ports"]
    assert port["containerPort"] == Settings().port
    probes = [server[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert [probe["path"] for probe in probes] == ["/healthz", "/readyz", "/healthz"]
    assert {probe["port"] for probe in probes} == {port["name"]}
    service, way_in = one(manifest, "Service"), one(manifest, "Ingress")
    assert service["spec"]["selector"] == one(manifest, "Deployment")["spec"]["selector"]["matchLabels"]
    (rule,) = way_in["spec"]["rules"]
    assert config["CABIDA_ADDRESS"] == f"https://{rule['host']}"
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": port["name"]}}
    bodies = way_in["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(bodies.removesuffix("m")) * 2**20 == Settings().most_upload_bytes
    secrets = re.findall(r"--from-literal=(\w+)=", PAGE)
    assert set(secrets) == {"PGPASSWORD", "CABIDA_SESSION_KEY"}
    assert not [document for document in manifest if document["kind"] == "Secret"]


def test_memory_and_patience_are_enough_for_what_the_server_does(manifest, compose):
    settings = Settings()
    (server,) = pod(manifest)["containers"]
    workers = taken(["serve", *[word for word in server["args"] if word.startswith("--workers")]])["workers"]
    needed = workers * settings.worker_bytes + 2**30
    given = {
        int(server["resources"]["limits"]["memory"].removesuffix("Gi")),
        int(compose["services"]["server"]["mem_limit"].removesuffix("g")),
        int(unit()["MemoryMax"][0].removesuffix("G")),
    }
    assert len(given) == 1
    assert given.pop() * 2**30 >= needed
    waits = {
        pod(manifest)["terminationGracePeriodSeconds"],
        int(compose["services"]["server"]["stop_grace_period"].removesuffix("s")),
        int(unit()["TimeoutStopSec"][0]),
    }
    assert len(waits) == 1
    assert waits.pop() > 5 + 2 * (settings.stop_s + 1) + 10  # before it, answers, jobs, threads
    assert {str(settings.worker_bytes // 2**30) + " GiB"} <= set(re.findall(r"\d+ GiB", PAGE))
    assert "takes no more jobs" in PAGE
    assert "eleven seconds, gives what is being worked out ten" in " ".join(PAGE.split())
    assert settings.stop_s == 10


def test_the_unit_is_what_systemd_says(tmp_path):
    analyse = ["systemd-analyze"]
    text = read("cabida.service").replace(
        "/opt/cabida/bin/cabida", str(Path(sys.executable).parent / "cabida")
    )
    place = tmp_path / "cabida.service"
    place.write_text(text, encoding="utf-8")
    done = subprocess.run([*analyse, "verify", place], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    exposed = subprocess.run(
        [*analyse, "security", "--offline=true", "--threshold=20", place],
        capture_output=True,
        text=True,
        check=False,
    )
    assert exposed.returncode == 0, exposed.stdout[-200:]
    place.write_text(text.replace("ProtectHome=", "ProtectHomes="), encoding="utf-8")
    wrong = subprocess.run([*analyse, "verify", place], capture_output=True, text=True, check=False)
    assert "ProtectHomes" in wrong.stderr


def test_the_unit_starts_what_there_is():
    found = unit()
    for line in (*found["ExecStartPre"], *found["ExecStart"]):
        program, *words = shlex.split(filled(line))
        assert program == "/opt/cabida/bin/cabida"
        taken(words)
    assert set(re.findall(r"(\w+)=/", " ".join(found["Environment"]))) <= KNOWN
    stated = set(
        re.findall(r"^(\w+)=", PAGE[PAGE.index("## systemd") : PAGE.index("## Copies")], re.MULTILINE)
    )
    assert stated == {"CABIDA_ADDRESS", "CABIDA_STORE", "PGPASSWORD", "CABIDA_SESSION_KEY"}
    assert found["StateDirectory"] == ["cabida"]
    assert found["WorkingDirectory"] == ["/var/lib/cabida"]


def test_alerts_ask_for_figures_that_there_are():
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    (rules,) = [group["rules"] for block in blocks for group in block.get("groups", ())]
    from prometheus_client import generate_latest

    counts = Counts()
    counts.requests.labels("GET", "/", 200).inc()
    counts.seconds.labels("/").observe(0.1)
    told = generate_latest(counts.all).decode()
    for rule in rules:
        for name in re.findall(r"cabida_\w+", rule["expr"]):
            assert re.search(rf"^{name}[ {{]", told, re.MULTILINE), name


def test_started_as_the_image_does_it_writes_where_it_may_and_ends_when_told(tmp_path):
    kept, scratch, work = tmp_path / "kept", tmp_path / "scratch", tmp_path / "work"
    for place in (kept, scratch, work):
        place.mkdir()
    environment = os.environ | {
        "CABIDA_STORE": f"{kept}/cabida.db", "XDG_DATA_HOME": str(kept), "XDG_CACHE_HOME": str(scratch),
        "HOME": "/nonexistent", "TMPDIR": str(scratch),
    }  # fmt: skip
    words = [sys.executable, "-m", "cabida"]
    subprocess.run(
        [*words, "store", "token", "add", "Ana", "--role", "editor"],
        env=environment, check=True, capture_output=True,
    )  # fmt: skip
    started = [*words, *json.loads(said("CMD")[0]), "--port=0", "--json", "--workers=1"]
    with subprocess.Popen(
        started, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        told = ""
        for line in server.stdout:
            told += line
            if line.rstrip() == "}":
                break
        port = json.loads(told)["url"].rstrip("/").rpartition(":")[2]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
            assert json.loads(answer.read()) == {"alive": True}
        server.send_signal(signal.SIGTERM)
        log = server.communicate(timeout=60)[1]
    assert server.returncode == 0, log
    assert all(json.loads(line)["level"] == "info" for line in log.splitlines())
    assert not list(work.iterdir())
    assert {place.name for place in kept.iterdir()} <= {
        "cabida.db",
        "cabida.db-wal",
        "cabida.db-shm",
        "cabida",
    }
