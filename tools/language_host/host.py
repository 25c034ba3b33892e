"""A Pulumi language host for Python, for machines where Pulumi's own release archive cannot be downloaded.

Pulumi's engine starts this program as ``pulumi-language-python [flags] ENGINE_ADDRESS``, reads the port from its first line of
output and then speaks the ``pulumirpc.LanguageRuntime`` gRPC service to it. A normal Pulumi installation brings its own host and
never sees this file. Where the two differ: this one never installs anything, so the project's virtualenv must be there already.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, ClassVar

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

PROGRAM = Path(__file__).with_name("program.py")
MESSAGE_ALREADY_SHOWN = 32
GRPC_OPTIONS = [("grpc.max_receive_message_length", 400 * 1024 * 1024), ("grpc.max_send_message_length", 400 * 1024 * 1024)]
LIST_PLUGINS = (
    "import json, pathlib, sys\n"
    "print(json.dumps([json.loads(f.read_text()) for p in sys.path for f in pathlib.Path(p).glob('*/pulumi-plugin.json')]))"
)
LIST_PACKAGES = (
    "import importlib.metadata as m, json\n"
    "print(json.dumps(sorted({(d.metadata['Name'], d.version) for d in m.distributions() if d.metadata['Name']})))"
)


def virtualenv(root: Path, options: Mapping[str, str]) -> Path | None:
    """The virtualenv of a program, chosen as Pulumi's own host does it.

    The ``virtualenv`` option counts from the project's folder. Without one, the ``uv`` toolchain (named, or recognised by a lock file)
    takes ``.venv`` beside the nearest uv.lock or pyproject.toml. None means: the Python that runs this host.
    """
    chosen = options.get("virtualenv")
    if chosen:
        return root / chosen
    lock = _search_up(root, "uv.lock")
    if options.get("toolchain", "uv" if lock else "") != "uv":
        return None
    return (lock or _search_up(root, "pyproject.toml") or root) / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")


def _search_up(folder: Path, name: str) -> Path | None:
    return next((at for at in (folder, *folder.parents) if (at / name).exists()), None)


def interpreter(info: Any) -> str:
    """The Python of a program. Raises FileNotFoundError with the fix when its virtualenv is not there."""
    chosen = virtualenv(Path(info.root_directory or "."), {key: str(value) for key, value in dict(info.options).items()})
    if chosen is None:
        return sys.executable
    python = chosen / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"the project's virtualenv {chosen} does not exist; `uv sync` makes it")
    return str(python)


def asked(python: str, script: str) -> Any:
    """What ``script`` prints as JSON when ``python`` runs it."""
    return json.loads(subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout)


def plugin_command(python: str, kind: str, arguments: Sequence[str], folder: str) -> list[str]:
    """How a plugin is started: a policy pack by Pulumi's own module, the folder of a provider as the program that it is."""
    if kind == "analyzer":
        return [python, "-u", "-m", "pulumi.policy", *arguments, folder]
    return [python, "-u", folder, *arguments]


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The service that Pulumi's engine calls; a missing virtualenv becomes the call's error message."""

    running: ClassVar[list[subprocess.Popen[bytes]]] = []

    def __init__(self, engine_address: str) -> None:
        self.engine_address = engine_address

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.engine_address = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        if Path(request.info.root_directory, "PulumiPlugin.yaml").exists():
            # Whoever uses a plugin brings the providers; asked for by version, they would be downloaded for its schema alone.
            return language_pb2.GetRequiredPackagesResponse()
        packages = [
            plugin_pb2.PackageDependency(name=plugin["name"], kind="resource", version="v" + plugin["version"].lstrip("v"))
            for plugin in asked(self._interpreter(request.info, context), LIST_PLUGINS)
            if plugin.get("resource") and plugin.get("version")
        ]
        return language_pb2.GetRequiredPackagesResponse(packages=packages)

    def GetRequiredPlugins(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.GetRequiredPluginsResponse()

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.AboutResponse(executable=self._interpreter(request.info, context), version=sys.version.split()[0])

    def GetProgramDependencies(self, request: Any, context: grpc.ServicerContext) -> Any:
        found = asked(self._interpreter(request.info, context), LIST_PACKAGES)
        dependencies = [language_pb2.DependencyInfo(name=name, version=version) for name, version in found]
        return language_pb2.GetProgramDependenciesResponse(dependencies=dependencies)

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        yield language_pb2.InstallDependenciesResponse(stdout=b"this language host installs nothing; run `uv sync`\n")

    def RuntimeOptionsPrompts(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        return empty_pb2.Empty()

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Runs a program to its end; its own messages went to the engine already when it ends with MESSAGE_ALREADY_SHOWN."""
        settings = {
            "project": request.project,
            "stack": request.stack,
            "monitor": request.monitor_address,
            "engine": self.engine_address,
            "parallel": request.parallel or None,
            "dry_run": request.dryRun,
            "organization": request.organization,
            "root_directory": request.info.root_directory,
        }
        environment = os.environ | {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
            "INTERLOCK_PARENT": str(os.getpid()),
        }
        program = str(Path(request.info.program_directory, request.info.entry_point))
        python = self._interpreter(request.info, context)
        command = [python, "-u", str(PROGRAM), json.dumps(settings), program, *request.args]
        done = subprocess.run(command, cwd=request.pwd or None, env=environment, check=False)
        if done.returncode == MESSAGE_ALREADY_SHOWN:
            return language_pb2.RunResponse(bail=True)
        if done.returncode:
            return language_pb2.RunResponse(error=f"the program exited with code {done.returncode}")
        return language_pb2.RunResponse()

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Runs a policy pack, or the folder of a provider written in Python, and streams what it prints."""
        directory = request.info.program_directory
        command = plugin_command(self._interpreter(request.info, context), request.kind, request.args, directory)
        environment = dict(pair.split("=", 1) for pair in request.env) or None
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        context.add_callback(process.terminate)
        self.running.append(process)
        for message in _both_streams(process):
            yield language_pb2.RunPluginResponse(**message)
        yield language_pb2.RunPluginResponse(exitcode=process.wait())

    @classmethod
    def stop(cls) -> None:
        """Ends the policy packs and providers that run."""
        for process in cls.running:
            process.terminate()

    @staticmethod
    def _interpreter(info: Any, context: grpc.ServicerContext) -> str:
        try:
            return interpreter(info)
        except FileNotFoundError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise


def _both_streams(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    output: SimpleQueue[dict[str, bytes] | None] = SimpleQueue()

    def pump(stream: IO[bytes], field: str) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            output.put({field: chunk})
        output.put(None)

    assert process.stdout is not None
    assert process.stderr is not None
    for stream, field in ((process.stdout, "stdout"), (process.stderr, "stderr")):
        threading.Thread(target=pump, args=(stream, field), daemon=True).start()
    for _ in range(2):
        while (message := output.get()) is not None:
            yield message


def serve(engine_address: str) -> None:
    """Serves until the engine ends this process; the port goes to standard output first."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=GRPC_OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageHost(engine_address), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop(grace=None))
    server.wait_for_termination()


if __name__ == "__main__":
    # Run as a script, beside program.py.
    from program import end_with_parent  # type: ignore[import-not-found]

    end_with_parent(LanguageHost.stop)
    serve(sys.argv[-1])
