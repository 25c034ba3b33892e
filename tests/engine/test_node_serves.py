"""The program's stack on a real node: the real engine in a real container, from `pulumi up` to an answer through its Service."""

import json
import subprocess
from typing import Any

from interlock.infra.catalog.image_contract import image_contract
from interlock.infra.config import load
from interlock.infra.plan.plan import plan
from tools.images.store import engine_image
from tools.node.testing import STARTUP_SECONDS, Deployed, RealNode
from tools.starts.judged import Starts

ALPHABET = "abcdefghijklmnop"
FACTS = """
import ctypes, importlib.metadata as meta, json, os, pwd, shutil, sys
asked = json.loads(sys.argv[1])
for name in asked["libraries"]:
    ctypes.CDLL(name)
print(json.dumps({
    "python": "%d.%d" % sys.version_info[:2],
    "commands": {name: bool(shutil.which(name)) for name in asked["commands"]},
    "distributions": {name: meta.version(name) for name in asked["distributions"]},
    "uid": os.getuid(),
    "workdir": os.getcwd(),
    "user": [list(entry)[:6] for entry in pwd.getpwall() if entry.pw_name == asked["user"]],
    "home_is_writable_for_its_group": oct(os.stat(asked["home"]).st_mode & 0o70),
    "set": [name for name in asked["unset"] if name in os.environ],
}))
"""


def test_the_engine_answers_through_the_programs_own_service(real_node: RealNode, deployed: Deployed) -> None:
    assert real_node.answer(deployed.namespace) == ALPHABET
    pod = real_node.pod(deployed.namespace)
    assert pod["spec"]["nodeName"] == real_node.node.name
    assert pod["status"]["qosClass"] == "Burstable"


def test_a_second_up_changes_nothing_on_the_real_node(real_node: RealNode, deployed: Deployed) -> None:
    before = real_node.pod(deployed.namespace)["metadata"]["uid"]
    outcome = deployed.up()
    assert set(outcome.changes) == {"same"}, outcome.changes
    assert real_node.pod(deployed.namespace)["metadata"]["uid"] == before


def test_the_startup_probe_waits_for_the_engine_and_readiness_follows(real_node: RealNode, deployed: Deployed) -> None:
    pod = real_node.pod(deployed.namespace)
    status = pod["status"]["containerStatuses"][0]
    assert (status["started"], status["ready"], status["restartCount"]) == (True, True, 0)
    seen = [message for reason, message in real_node.events(deployed.namespace, pod["metadata"]["name"]) if reason == "Unhealthy"]
    assert seen
    assert all("Startup probe failed" in message and "connection refused" in message for message in seen)


def test_every_pod_was_ready_within_the_planned_time(real_node: RealNode, deployed: Deployed, record_property: Any, starts: Starts) -> None:
    server = plan(load(deployed.config), "node").servers[0]
    for name, pod in real_node.pods(deployed.namespace).items():
        seconds = real_node.start_seconds(pod)
        record_property("start", starts.add(name, seconds, server.start.cold.container))
        assert 0 < seconds <= server.times.startup


def test_logs_exec_and_describe_reach_the_container(real_node: RealNode, deployed: Deployed) -> None:
    name = real_node.pod(deployed.namespace)["metadata"]["name"]
    assert "Application startup complete" in real_node.kubectl("-n", deployed.namespace, "logs", name)
    assert "VLLM" in real_node.kubectl("-n", deployed.namespace, "exec", name, "--", "ps", "-e", "-o", "args")
    described = real_node.kubectl("-n", deployed.namespace, "describe", "pod", name)
    assert f"{real_node.node.name}/{real_node.node.address}" in described
    assert "Container started" in described


def test_a_forwarded_port_reaches_the_engine(real_node: RealNode, deployed: Deployed) -> None:
    name = real_node.pod(deployed.namespace)["metadata"]["name"]
    command = ["kubectl", f"--kubeconfig={real_node.kubeconfig}", "-n", deployed.namespace, "port-forward", name, ":8000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=real_node.environment) as forward:
        try:
            assert forward.stdout is not None
            port = forward.stdout.readline().split("127.0.0.1:")[1].split()[0]
            got = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/v1/models"], capture_output=True, text=True, check=True)
        finally:
            forward.terminate()
    assert json.loads(got.stdout)["data"][0]["id"] == "tiny"


def test_shared_memory_and_arguments_are_what_the_plan_says(real_node: RealNode, deployed: Deployed) -> None:
    pod = real_node.pod(deployed.namespace)
    run = ["-n", deployed.namespace, "exec", pod["metadata"]["name"], "--"]
    assert real_node.kubectl(*run, "df", "-k", "--output=fstype,size", "/dev/shm").split()[-2:] == ["tmpfs", str(1024 * 1024)]
    container = pod["spec"]["containers"][0]
    running = real_node.kubectl(*run, "cat", "/proc/1/cmdline").split("\0")
    assert [*container["command"], *container["args"]] == running[:-1]


def test_preflight_looked_before_the_engine_started_and_says_what_it_could_not_see(real_node: RealNode, deployed: Deployed) -> None:
    pod = real_node.pod(deployed.namespace)
    (looked,) = pod["status"]["initContainerStatuses"]
    assert (looked["name"], looked["state"]["terminated"]["exitCode"]) == ("preflight", 0)
    assert "no problem" in looked["state"]["terminated"]["message"]
    log = real_node.kubectl("-n", deployed.namespace, "logs", pod["metadata"]["name"], "-c", "preflight")
    assert "not looked at: gpu-count: NVML is missing" in log, "a simulated card has no driver"
    for kind in ("shm", "host-memory", "model-files", "writable", "user"):
        assert f"fine: {kind}: " in log


def test_the_probe_reads_the_heartbeat_of_the_running_engine(real_node: RealNode, deployed: Deployed) -> None:
    pod = real_node.pod(deployed.namespace)
    real_node.answer(deployed.namespace)
    probe = pod["spec"]["containers"][0]["livenessProbe"]["exec"]["command"]
    run = ["-n", deployed.namespace, "exec", pod["metadata"]["name"], "-c", "engine", "--"]
    real_node.kubectl(*run, *probe)  # raises when it fails
    assert "control" in real_node.kubectl(*run, "ls", "/dev/shm/interlock")


def test_the_image_fulfils_the_contract_of_the_stock_image(real_node: RealNode, namespace: str) -> None:
    contract = image_contract()
    asked = {
        "libraries": contract.libraries.value,
        "commands": contract.commands.value,
        "distributions": list(contract.distributions.value),
        "user": contract.user.value.name,
        "home": contract.user.value.home,
        "unset": contract.unset.value,
    }
    container = {"name": "facts", "image": engine_image(), "command": [contract.interpreter.value, "-c", FACTS, json.dumps(asked)]}
    spec = {"restartPolicy": "Never", "containers": [container], "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    real_node.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "facts"}, "spec": spec}, namespace=namespace)
    real_node.wait("pod/facts", "jsonpath={.status.phase}=Succeeded", namespace, STARTUP_SECONDS)
    facts = json.loads(real_node.kubectl("-n", namespace, "logs", "facts"))
    user = contract.user.value
    assert facts["python"] == contract.python.value
    assert all(facts["commands"].values()), facts["commands"]
    assert facts["uid"] == contract.default_uid.value
    assert facts["workdir"] == contract.workdir.value
    assert facts["user"] == [[user.name, "x", user.uid, user.gid, user.name, user.home]]
    assert facts["home_is_writable_for_its_group"] == "0o70"
    assert facts["set"] == []
    for name, least in contract.distributions.value.items():
        assert _numbers(facts["distributions"][name]) >= _numbers(least), name


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".") if part.isdigit())
