"""Preflight against a driver library that pretends, a folder that stands for the container, and a hub on a socket."""

import ctypes
import http.server
import json
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime.preflight import cards, driver, run
from interlock.runtime.preflight.look import Result, Seen, World

HERE = Path(__file__).parent
H100 = {"count": 2, "model": "NVIDIA-H100-80GB-HBM3", "memory_mib": 80000, "sharing": "exclusive"}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pretended driver library, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler here")
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(HERE / "fake_nvml.c")], check=True)
    return path


@pytest.fixture
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., cards.Machine]:
    """What NVML says when it has these values."""

    def ask(**values: object) -> cards.Machine:
        for name, value in values.items():
            monkeypatch.setenv(f"FAKE_{name.upper()}", str(value))
        return cards.read(lambda _: ctypes.CDLL(str(library)))

    return ask


def looked(plan: dict[str, Any], given: cards.Machine | None = None, root: Path = Path("/"), **environment: str) -> dict[str, Result]:
    """The last result of each kind."""

    def ask() -> cards.Machine:
        if given is None:
            raise cards.UnseenError("NVML is missing")
        return given

    return {each.kind: each for each in run.looks(World({"USER": "vllm", **environment}, ask, root, plan))}


def problems(results: dict[str, Result]) -> dict[str, str]:
    return {kind: each.text for kind, each in results.items() if each.seen is Seen.PROBLEM}


def test_a_node_as_planned_has_no_problem(machine: Callable[..., cards.Machine]) -> None:
    results = looked({"gpus": H100, "cuda": "13.0"}, machine())
    assert problems(results) == {}
    assert set(results) == {"user", "driver", "gpu-count", "gpu-sharing", "gpu-model", "gpu-memory", "gpu-busy"}


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        ({"count": 1}, "gpu-count", "1 GPUs are visible and the plan needs 2"),
        ({"name": "NVIDIA H100 PCIe"}, "gpu-model", "GPU 1 is NVIDIA H100 PCIe and the plan was made for NVIDIA-H100-80GB-HBM3"),
        ({"driver": "570.124.06"}, "driver", "driver 570.124.06 cannot run CUDA 13.0"),
        ({"processes": 3, "used": 4000}, "gpu-busy", "3 processes are on GPU 1 (4000 MiB in use)"),
        ({"processes": 100}, "gpu-busy", "100 processes"),
        ({"used": 30000, "processes_code": 3}, "gpu-busy", "30000 MiB of GPU 1 are in use"),
        ({"mig": 2}, "gpu-sharing", "GPU 1 is in MIG mode and the plan says exclusive"),
    ],
)
def test_what_is_not_as_planned_is_named(machine: Callable[..., cards.Machine], values: dict[str, object], kind: str, text: str) -> None:
    found = problems(looked({"gpus": H100, "cuda": "13.0"}, machine(**values)))
    assert text in found[kind]
    assert len(found) == 1


def test_less_memory_than_planned_is_named(machine: Callable[..., cards.Machine]) -> None:
    found = problems(looked({"gpus": {**H100, "memory_mib": 143771}}, machine()))
    assert "GPU 1 has 81559 MiB and the plan counts on 143771 MiB" in found["gpu-memory"]


def test_neighbours_on_a_shared_card_are_no_problem(machine: Callable[..., cards.Machine]) -> None:
    shared = {**H100, "count": 1, "sharing": "time-sliced", "model": "NVIDIA-H100-80GB-HBM3-SHARED"}
    assert problems(looked({"gpus": shared}, machine(count=1, processes=2, used=40000))) == {}


def test_mig_devices_are_counted_and_named(machine: Callable[..., cards.Machine]) -> None:
    plan = {"gpus": {"count": 2, "sharing": "mig", "profile": "1g.10gb"}}
    assert problems(looked(plan, machine(count=1, mig=2))) == {}
    assert "the plan needs 2" in problems(looked(plan, machine(count=1, mig=1)))["gpu-count"]
    assert "no GPU here is in MIG mode" in problems(looked(plan, machine(count=1, mig=0)))["gpu-sharing"]
    wrong = looked(plan, machine(count=1, mig=2, slice="NVIDIA H100 80GB HBM3 MIG 1g.10gb+me"))
    assert "the plan says 1g.10gb" in problems(wrong)["gpu-sharing"]


def test_a_card_without_mig_is_not_in_mig_mode(machine: Callable[..., cards.Machine]) -> None:
    assert [card.mig for card in machine(mig=-1).cards] == [False, False]


def test_without_nvml_nothing_is_claimed() -> None:
    results = looked({"gpus": H100, "cuda": "13.0"})
    assert (results["gpu-count"].seen, results["driver"].seen) == (Seen.UNSEEN, Seen.UNSEEN)
    assert "gpu-model" not in results


def test_a_missing_library_and_a_driver_that_is_not_loaded_are_told_apart(machine: Callable[..., cards.Machine]) -> None:
    with pytest.raises(cards.UnseenError, match="NVML is missing"):
        cards.read(lambda _: ctypes.CDLL("/nonexistent/libnvidia-ml.so.1"))
    with pytest.raises(cards.UnseenError, match=r"answers 9 \(Driver Not Loaded\)"):
        machine(init=9)


def test_an_old_library_without_a_function_is_unseen(tmp_path: Path) -> None:
    with pytest.raises(cards.UnseenError, match="has no nvmlInit_v2"):
        cards.read(lambda _: ctypes.CDLL(None))


@pytest.mark.parametrize(
    ("version", "cuda", "seen"),
    [
        ("580.65.06", "13.0", Seen.FINE),
        ("590.44.01", "12.8", Seen.FINE),
        ("525.60.13", "12.9", Seen.FINE),
        ("470.256.02", "12.0", Seen.PROBLEM),
        ("580.65.06", "99.0", Seen.UNSEEN),
        ("", "13.0", Seen.UNSEEN),
    ],
)
def test_drivers_against_cuda_versions(tmp_path: Path, version: str, cuda: str, seen: Seen) -> None:
    assert driver.look(version, cuda, World({}, cards.read, tmp_path)).seen is seen


def test_an_image_with_the_forward_compatibility_package_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "usr/local/cuda-13.0/compat").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-13.0/compat/libcuda.so.580.65.06").touch()
    assert driver.look("535.183.01", "13.0", World({}, cards.read, tmp_path)).seen is Seen.UNSEEN


def tensors(size: int) -> bytes:
    header = json.dumps({"__metadata__": {"format": "pt"}, "w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(size)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of two shards, whole."""
    at = tmp_path / "models" / "a"
    at.mkdir(parents=True)
    (at / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in names:
        (at / name).write_bytes(tensors(1000))
    (at / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": names[0], "b": names[1], "c": names[1]}}))
    return at


PLAN = {"model": {"name": "/models/a", "architecture": "LlamaForCausalLM"}}


def test_a_whole_model_is_fine(model: Path, tmp_path: Path) -> None:
    results = looked(PLAN, root=tmp_path)
    assert problems(results) == {}
    assert "2 weight files" in results["model-files"].text


def spoil(model: Path, how: str) -> None:
    second = model / "model-00002-of-00002.safetensors"
    match how:
        case "missing shard":
            second.unlink()
        case "truncated shard":
            second.write_bytes(second.read_bytes()[:-1])
        case "longer shard":
            second.write_bytes(second.read_bytes() + b"x")
        case "empty shard":
            second.write_bytes(b"")
        case "header that is no JSON":
            second.write_bytes(struct.pack("<Q", 4) + b"abcd")
        case "header longer than the file":
            second.write_bytes(struct.pack("<Q", 2**63) + bytes(100))
        case "a pointer instead of a file":
            second.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
        case "broken index":
            (model / "model.safetensors.index.json").write_text('{"weight_map": ["a"')
        case "no folder":
            shutil.rmtree(model)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("missing shard", "1 of 2 weight files are missing"),
        ("truncated shard", "and its header needs"),
        ("longer shard", "and its header needs"),
        ("empty shard", "has 0 bytes and no safetensors header"),
        ("header that is no JSON", "a header that is not JSON"),
        ("header longer than the file", "no safetensors header"),
        ("a pointer instead of a file", "no safetensors header"),
        ("broken index", "is not an index"),
        ("no folder", "is not there"),
    ],
)
def test_an_incomplete_model_is_named(model: Path, tmp_path: Path, how: str, text: str) -> None:
    spoil(model, how)
    assert text in problems(looked(PLAN, root=tmp_path))["model-files"]


def test_another_architecture_than_planned_is_named(model: Path, tmp_path: Path) -> None:
    (model / "config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    assert "is Qwen3ForCausalLM and the plan was made for LlamaForCausalLM" in problems(looked(PLAN, root=tmp_path))["model-architecture"]


@pytest.mark.parametrize(("text", "seen"), [("{}", Seen.UNSEEN), ("{", Seen.UNSEEN), (None, Seen.PROBLEM)])
def test_a_config_that_names_no_architecture_is_not_judged(model: Path, tmp_path: Path, text: str | None, seen: Seen) -> None:
    (model / "config.json").unlink()
    if text is not None:
        (model / "config.json").write_text(text)
    assert looked(PLAN, root=tmp_path)["model-architecture"].seen is seen


def test_another_format_than_safetensors_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "models" / "a").mkdir(parents=True)
    (tmp_path / "models" / "a" / "model.gguf").touch()
    assert looked({"model": {"name": "/models/a"}}, root=tmp_path)["model-files"].seen is Seen.UNSEEN


def test_offline_the_hubs_cache_must_have_the_model(model: Path, tmp_path: Path) -> None:
    plan = {"model": {"name": "org/a", "architecture": "LlamaForCausalLM"}}
    assert "may not be asked" in problems(looked(plan, root=tmp_path, HF_HUB_OFFLINE="1", HF_HOME="/cache"))["model-files"]
    cache = tmp_path / "cache" / "hub" / "models--org--a"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc\n")
    (cache / "snapshots").mkdir()
    model.rename(cache / "snapshots" / "abc")
    assert looked(plan, root=tmp_path, HF_HUB_OFFLINE="1", HF_HOME="/cache")["model-files"].seen is Seen.FINE


def test_a_complete_cache_that_cannot_be_written_is_enough_offline(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder can be made below it")
    assert problems(looked({}, root=tmp_path, HF_HOME="/cache", HF_HUB_OFFLINE="1")) == {}
    assert "/cache cannot be written" in problems(looked({}, root=tmp_path, HF_HOME="/cache"))["writable"]
    planned = looked({"writable": ["/cache"]}, root=tmp_path, HF_HOME="/cache", HF_HUB_OFFLINE="1")
    assert "writable" in problems(planned), "what the plan names is looked at"


HUB_TOKENS: list[str] = []
"""What the hub below was sent, the last one last."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], str]]:
    """A hub that answers one status; gives its address."""
    status = [200]

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            HUB_TOKENS.append(self.headers.get("Authorization", ""))
            if status[0] == 0:
                self.wfile.write(b"no hub\r\n\r\n")
                return
            self.send_response(status[0])
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def answering(code: int) -> str:
        status[0] = code
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield answering
    server.shutdown()


@pytest.mark.parametrize(
    ("status", "token", "kind", "text"),
    [
        (401, "", "hub-token", "the hub wants a token and HF_TOKEN is not set"),
        (401, "hf_x", "hub-token", "it is wrong or has expired"),
        (403, "hf_x", "hub-token", "HF_TOKEN is valid but has no access"),
        (404, "hf_x", "hub", "the hub has no org/a at main"),
        (503, "hf_x", "hub", "answers 503"),
        (0, "", "hub", "does not answer as a hub does"),
    ],
)
def test_what_the_hub_refuses_is_told_apart(
    hub: Callable[[int], str], monkeypatch: pytest.MonkeyPatch, *, status: int, token: str, kind: str, text: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    found = problems(looked({"model": {"name": "org/a"}}, HF_ENDPOINT=hub(status), HF_TOKEN=token))
    assert text in found[kind]
    assert "hf_x" not in str(found)


@pytest.mark.parametrize(
    ("environment", "file", "sent"),
    [
        ({"HF_TOKEN": "hf_a"}, "", "Bearer hf_a"),
        ({"HUGGING_FACE_HUB_TOKEN": "hf_b"}, "", "Bearer hf_b"),
        ({"HF_HOME": "/cache"}, "cache/token", "Bearer hf_file"),
        ({"HF_TOKEN_PATH": "/run/mine"}, "run/mine", "Bearer hf_file"),
        ({"HF_TOKEN": "hf_a", "HF_HOME": "/cache"}, "cache/token", "Bearer hf_a"),
        ({"HF_HOME": "/cache"}, "", ""),
    ],
)
def test_the_hub_is_asked_with_the_token_that_the_engine_would_send(
    hub: Callable[[int], str], tmp_path: Path, *, environment: dict[str, str], file: str, sent: str
) -> None:
    if file:
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("hf_file\n")
    assert looked({"model": {"name": "org/a"}}, None, tmp_path, HF_ENDPOINT=hub(200), **environment)["hub"].seen is Seen.FINE
    assert HUB_TOKENS[-1] == sent


def cached(model: Path, root: Path) -> None:
    """The model in the hub's cache of `/cache`."""
    at = root / "cache" / "hub" / "models--org--a"
    (at / "refs").mkdir(parents=True)
    (at / "refs" / "main").write_text("abc")
    (at / "snapshots").mkdir()
    model.rename(at / "snapshots" / "abc")


@pytest.mark.parametrize(("status", "seen"), [(503, Seen.UNSEEN), (429, Seen.UNSEEN), (0, Seen.UNSEEN), (404, Seen.PROBLEM)])
def test_a_hub_in_trouble_holds_up_no_engine_whose_cache_is_complete(
    hub: Callable[[int], str], model: Path, tmp_path: Path, *, status: int, seen: Seen
) -> None:
    cached(model, tmp_path)
    results = looked({"model": {"name": "org/a"}}, root=tmp_path, HF_ENDPOINT=hub(status), HF_HOME="/cache")
    assert (results["hub"].seen, results["model-files"].seen) == (seen, Seen.FINE)


@pytest.mark.parametrize(("status", "seen"), [(503, Seen.PROBLEM), (200, Seen.FINE)])
def test_a_cache_with_a_missing_shard_needs_the_hub(
    hub: Callable[[int], str], model: Path, tmp_path: Path, *, status: int, seen: Seen
) -> None:
    spoil(model, "missing shard")
    cached(model, tmp_path)
    results = looked({"model": {"name": "org/a"}}, root=tmp_path, HF_ENDPOINT=hub(status), HF_HOME="/cache")
    assert (results["hub"].seen, "model-files" in results) == (seen, False)


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_model_of_modelscope_is_not_looked_for(tmp_path: Path, offline: str) -> None:
    plan = {"model": {"name": "org/a"}}
    found = looked(plan, root=tmp_path, VLLM_USE_MODELSCOPE="True", HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_OFFLINE=offline)
    assert (found["hub"].seen, problems(found)) == (Seen.UNSEEN, {})


def test_a_hub_that_has_the_model_is_fine(hub: Callable[[int], str]) -> None:
    assert problems(looked({"model": {"name": "org/a"}}, HF_ENDPOINT=hub(200))) == {}


@pytest.mark.parametrize(("endpoint", "text"), [("http://127.0.0.1:9", "cannot be reached"), ("hub.invalid", "does not answer as a hub")])
def test_a_hub_that_cannot_be_reached_is_named(endpoint: str, text: str) -> None:
    assert text in problems(looked({"model": {"name": "org/a"}}, HF_ENDPOINT=endpoint))["hub"]


def test_memory_is_the_smaller_of_the_limit_and_the_machine(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:       16777216 kB\n")
    assert problems(looked({"memory_mib": 16384}, root=tmp_path)) == {}
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert problems(looked({"memory_mib": 16384}, root=tmp_path)) == {}
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{8 << 30}\n")
    assert "8192 MiB of memory are there" in problems(looked({"memory_mib": 16384}, root=tmp_path))["host-memory"]


def test_memory_that_nobody_tells_is_not_judged(tmp_path: Path) -> None:
    assert looked({"memory_mib": 1}, root=tmp_path)["host-memory"].seen is Seen.UNSEEN


def test_shared_memory_that_is_too_small_is_named(tmp_path: Path) -> None:
    (tmp_path / "dev" / "shm").mkdir(parents=True)
    there = os.statvfs(tmp_path)
    mib = there.f_blocks * there.f_frsize >> 20
    assert problems(looked({"shm_mib": mib}, root=tmp_path)) == {}
    assert f"/dev/shm has {mib} MiB" in problems(looked({"shm_mib": mib + 1}, root=tmp_path))["shm"]


def test_folders_that_cannot_be_written_are_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    found = problems(looked({"writable": ["/data"]}, root=tmp_path, HOME="/file"))
    assert found == {"writable": f"/file cannot be written: File exists (user {os.geteuid()}); mount a volume there"}


@pytest.mark.parametrize(("options", "reason"), [("ro", "Read-only file system"), ("size=4k", "No space left on device")])
def test_a_read_only_cache_and_a_full_disk_are_one_line_each_and_2(archive: Path, tmp_path: Path, options: str, reason: str) -> None:
    """On a file system of its own, in a mount namespace of its own."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")
    message = tmp_path / "message"
    message.touch()
    (tmp_path / "cache").mkdir()
    spec = {"termination_log": str(message), "preflight": {"writable": [str(tmp_path / "cache")]}}
    script = f"mount -t tmpfs -o {options} none {tmp_path}/cache; exec python3 {archive} preflight"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        env={"PATH": os.environ["PATH"], "INTERLOCK_RUNTIME": json.dumps(spec)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert reason in message.read_text()
    assert message.read_text().count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_user_without_a_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    assert "user 4711 has no name" in problems(looked({}, USER=""))["user"]
    assert problems(looked({}, USER="vllm")) == {}


def test_the_termination_message_is_one_line_with_the_first_problem_and_the_kinds_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = tmp_path / "message"
    message.touch()
    plan = {"model": {"name": "/none"}, "memory_mib": 10**9, "shm_mib": 10**9}
    monkeypatch.setenv("INTERLOCK_RUNTIME", json.dumps({"termination_log": str(message), "preflight": plan}))
    assert run.main([]) == 2
    assert message.read_text().startswith("preflight: shm: /dev/shm has ")
    assert message.read_text().endswith("(and 2 more: host-memory, model-files)\n")
    assert capsys.readouterr().out.splitlines()[-1].startswith("problem: model-files")


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"gpu": {}}, "preflight.gpu is not known"),
        ({"gpus": {"model": "x"}}, "an object with a count"),
        ({"gpus": {"count": 1, "memory": 2}}, "preflight.gpus.memory is not known"),
        ({"gpus": {"count": "1"}}, "preflight.gpus.count is '1' and must be a whole number"),
        ({"gpus": {"count": 1, "sharing": "half"}}, "one of exclusive"),
        ({"cuda": 13.0}, "a version like 13.0"),
        ({"writable": ["cache"]}, "a list of folders"),
        ({"model": {"name": ""}}, "preflight.model.name is '' and must be a string"),
    ],
)
def test_a_bad_plan_is_one_line_and_2(
    plan: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOCK_RUNTIME", json.dumps({"preflight": plan}))
    assert run.main([]) == 2
    assert text in capfd.readouterr().err
