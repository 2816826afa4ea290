"""Kubernetes: a Deployment for replicas of one machine, a LeaderWorkerSet for replicas of several.

Fields as in kubernetes.io/docs/reference (apps/v1, v1, policy/v1) and lws.sigs.k8s.io (leaderworkerset.x-k8s.io/v1),
seen 2026-12-01.
"""

from __future__ import annotations

import math
from typing import Any

from cabida.errors import InvalidInput
from cabida.launch.compose import CACHE, notes_of, with_host
from cabida.launch.shell import quoted
from cabida.launch.start import HEALTH, START_FACTOR, Start
from cabida.launch.yamls import as_texts
from cabida.text import problem, tr

PROBED_EVERY_S = 10
CACHE_FACTOR = 1.3  # room for a checkpoint while it is downloaded
WORK = {"name": "models", "mountPath": "/work", "subPath": "work"}  # checkpoints made beforehand
SHARED_MEMORY = "16Gi"  # NCCL between the ranks of one machine
SCRIPT = "/vllm-workspace/examples/online_serving/multi-node-serving.sh"  # in vLLM's image


def kubernetes(start: Start) -> str:
    """Manifests that start every replica, spares among them, behind one service.

    Raises:
        InvalidInput: no image is published for it (CB-L005), or nobody says what Kubernetes calls the accelerator
            (CB-L006), or its engine is started over several machines in a way that isn't known here (CB-L007).
    """
    if not start.image:
        raise InvalidInput([problem("CB-L005", engine=start.engine, vendor=start.vendor)])
    if not start.resource:
        raise InvalidInput([problem("CB-L006", vendor=start.vendor)])
    if start.nodes_count > 1 and start.engine not in ("vllm", "sglang"):
        raise InvalidInput([problem("CB-L007", engine=start.engine, nodes=start.nodes_count)])
    workload = _deployment(start) if start.nodes_count == 1 else _leader_worker_set(start)
    notes = (*notes_of(start), tr("launch.file.secret", name=start.name), tr("launch.file.scale"))
    return as_texts([_cache(start), workload, _service(start), _budget(start)], notes)


def _metadata(start: Start, suffix: str = "") -> dict[str, Any]:
    return {"name": f"{start.name}{suffix}", "labels": _labels(start)}


def _labels(start: Start) -> dict[str, str]:
    return {"app.kubernetes.io/name": start.name}


def _total(start: Start) -> int:
    return max(1, start.replicas_count + start.spare_replicas_count)


def _cache(start: Start) -> dict[str, Any]:
    """One volume for all replicas to read the checkpoint from; it needs a class that many may mount."""
    gigabytes = max(10, math.ceil(CACHE_FACTOR * start.weights_gb))
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": f"{gigabytes}G"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(start, "-models"),
        "spec": spec,
    }


def _deployment(start: Start) -> dict[str, Any]:
    spec = {
        "replicas": _total(start),
        "selector": {"matchLabels": _labels(start)},
        # a new replica needs accelerators of its own; where there are none spare, one has to go first
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "progressDeadlineSeconds": math.ceil(2 * START_FACTOR * start.starts_s),
        "template": {"metadata": {"labels": _labels(start)}, "spec": _pod(start, _command(start))},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(start), "spec": spec}


def _command(start: Start) -> list[str]:
    return ["bash", "-c", with_host(start)] if start.script else list(start.words)


def _pod(start: Start, command: list[str], *, serves: bool = True) -> dict[str, Any]:
    token = {"secretKeyRef": {"name": f"{start.name}-hub", "key": "token", "optional": True}}
    container: dict[str, Any] = {
        "name": "engine",
        "image": start.image,
        "command": command,
        "workingDir": "/work",
        "env": [{"name": "HF_TOKEN", "valueFrom": token}],
        "resources": {"limits": {start.resource: start.accelerators_per_node}},
        "volumeMounts": [
            {"name": "models", "mountPath": CACHE},
            {"name": "shm", "mountPath": "/dev/shm"},
            WORK,
        ],
    }
    if serves:
        asked = {"httpGet": {"path": HEALTH, "port": "http"}}
        container |= {
            "ports": [{"name": "http", "containerPort": start.port}],
            "startupProbe": {**asked, "periodSeconds": PROBED_EVERY_S, "failureThreshold": _tries(start)},
            "readinessProbe": {**asked, "periodSeconds": PROBED_EVERY_S, "failureThreshold": 2},
            "livenessProbe": {
                **asked,
                "periodSeconds": PROBED_EVERY_S,
                "timeoutSeconds": 10,
                "failureThreshold": 6,
            },
        }
    pod: dict[str, Any] = {
        "containers": [container],
        "terminationGracePeriodSeconds": 120,  # answers under way are finished
        "volumes": [
            {"name": "models", "persistentVolumeClaim": {"claimName": f"{start.name}-models"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}},
        ],
    }
    return pod | _placed(start)


def _tries(start: Start) -> int:
    return max(6, math.ceil(START_FACTOR * start.starts_s / PROBED_EVERY_S))


def _placed(start: Start) -> dict[str, Any]:
    """On machines with that very accelerator, and past the taint that keeps others off them."""
    placed: dict[str, Any] = {
        "tolerations": [
            {"key": start.resource.partition("/mig")[0], "operator": "Exists", "effect": "NoSchedule"}
        ]
    }
    if start.vendor == "NVIDIA" and "/mig" in start.resource:
        placed["tolerations"][0]["key"] = "nvidia.com/gpu"
    if start.product_names:
        wanted = {"key": "nvidia.com/gpu.product", "operator": "In", "values": list(start.product_names)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        placed["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return placed


def _leader_worker_set(start: Start) -> dict[str, Any]:
    """Each replica a group of machines: the first leads and serves, the others follow."""
    leader, worker = _roles(start)
    spec = {
        "replicas": _total(start),
        "leaderWorkerTemplate": {
            "size": start.nodes_count,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": {
                "metadata": {"labels": {**_labels(start), "role": "leader"}}, "spec": _pod(start, leader),
            },
            "workerTemplate": {"spec": _pod(start, worker, serves=False)},
        },
    }  # fmt: skip
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": _metadata(start),
        "spec": spec,
    }  # fmt: skip


def _roles(start: Start) -> tuple[list[str], list[str]]:
    command = " ".join(quoted(word) for word in start.words)
    if start.engine == "sglang":  # every machine runs the same command under its own rank
        set_by_lws = {"NODE_RANK": '"$LWS_WORKER_INDEX"', "HEAD_ADDRESS": '"$LWS_LEADER_ADDRESS:20000"'}
        for name, value in set_by_lws.items():
            command = command.replace(f'"${{{name}:?}}"', value)
        return ["bash", "-c", f"exec {command}"], ["bash", "-c", f"exec {command}"]
    leader = f"bash {SCRIPT} leader --ray_cluster_size=$LWS_GROUP_SIZE && exec {command}"
    return ["bash", "-c", leader], ["bash", "-c", f"bash {SCRIPT} worker --ray_address=$LWS_LEADER_ADDRESS"]


def _service(start: Start) -> dict[str, Any]:
    chosen = {**_labels(start), **({"role": "leader"} if start.nodes_count > 1 else {})}
    spec = {"selector": chosen, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(start), "spec": spec}


def _budget(start: Start) -> dict[str, Any]:
    """Never fewer than the peak takes, where there are spares; one at a time otherwise."""
    if start.spare_replicas_count and start.nodes_count == 1:
        limit: dict[str, Any] = {"minAvailable": start.replicas_count}
    else:
        limit = {"maxUnavailable": 1}
    spec = {**limit, "selector": {"matchLabels": _labels(start)}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(start),
        "spec": spec,
    }
