"""The commands of the archive. Each is a module of its own, so that the probe imports nothing that it does not need."""

import importlib
import sys

COMMANDS = {
    "run": ("interlock.runtime.supervise.run", "start the engine, watch over it, drain it: run -- vllm serve MODEL ..."),
    "drain": ("interlock.runtime.supervise.ask", "ask the running supervisor to drain and end; again is nothing"),
    "live": ("interlock.runtime.probe", "exit 1 when an engine holds work and has not stepped for LIMIT seconds: live LIMIT"),
    "preflight": ("interlock.runtime.preflight.run", "look at GPUs, driver, memory, model files and folders before the engine starts"),
    "lora": ("interlock.runtime.lora", "adapters of the running engine: lora list | load NAME PATH | unload NAME | watch FILE"),
    "weights": ("interlock.runtime.weights", "fetch a model's files, or copy them to this node"),
    "guard": ("interlock.runtime.supervise.guard", "internal: ends the engine when its supervisor is killed"),
}
USAGE = 2


def main(arguments: list[str]) -> int:
    """Runs one command and returns its exit code; 2 for a command that is not there."""
    name = arguments[0] if arguments else ""
    if name not in COMMANDS:
        known = "\n".join(f"  {each:10} {text}" for each, (_, text) in COMMANDS.items())
        sys.stderr.write(f"interlock: {name or 'no command'}: the commands are\n{known}\n")
        return USAGE
    return int(importlib.import_module(COMMANDS[name][0]).main(arguments[1:]))
