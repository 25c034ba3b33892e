"""A stack of another cluster on the local control plane: its target is replaced in a copy, and what it expects is made as stand-ins."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.cluster import extensions, standins
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError

CLUSTER = "interlock:cluster"
KUBECONFIG = "interlock:kubeconfig"
SALT = "encryptionsalt"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The folder of the copied project, and every stand-in in words."""

    folder: Path
    standins: tuple[str, ...]


def target(stack: str) -> dict[str, Any]:
    """The target of the stack's file; empty when the file is not one that `interlock` would read."""
    try:
        read = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text("utf-8"))
        return dict(read["config"][CLUSTER]["target"])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return {}


def prepare(cluster: Cluster, stack: str, bin_folder: Path) -> Rehearsal:
    """Makes the copy and the stand-ins. Raises ToolError when the stack has no rendering or a stand-in cannot be made."""
    objects = rendered(stack)
    made = standins.install(cluster, stack, objects, lambda: extensions.install(cluster, bin_folder))
    folder = cluster.folder / "rehearsal" / stack
    original = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text("utf-8"))
    written = folder / f"Pulumi.{stack}.yaml"
    # The state's values are encrypted with the salt of the first rehearsal.
    salt = (yaml.safe_load(written.read_text("utf-8")) or {}).get(SALT) if written.exists() else None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for entry in ROOT.iterdir():
        # The copy shows the project as it is: relative paths in the stack's config lead where they led.
        if entry.name == "Pulumi.yaml" or not entry.name.startswith("Pulumi."):
            (folder / entry.name).symlink_to(entry)
    settings, replaced = local_settings(original, cluster.name)
    written.write_text(yaml.safe_dump(settings | ({SALT: salt} if salt else {}), sort_keys=False), "utf-8")
    return Rehearsal(folder, (*replaced, *made))


def local_settings(original: Mapping[str, Any], name: str) -> tuple[dict[str, Any], list[str]]:
    """The stack file ``original`` for the local cluster ``name``, and what was replaced, in words.

    Encrypted values belong to the stack's own passphrase or key service, which a rehearsal must not need.
    """
    config = dict(original["config"])
    said = [_context(config[CLUSTER].get("target", {}), name)]
    config[CLUSTER] = config[CLUSTER] | {"target": {"local": name}}
    if config.pop(KUBECONFIG, None) is not None:
        said.append(f"{KUBECONFIG} -> that of {name}")
    for key, value in config.items():
        if isinstance(value, Mapping) and set(value) == {"secure"}:
            config[key] = standins.PLACEHOLDER
            said.append(f"encrypted value {key}")
    return {"config": config}, said


def rendered(stack: str) -> list[dict[str, Any]]:
    """The objects of the stack. Raises ToolError with the message of `interlock`."""
    command = [sys.executable, "-m", "interlock.cli.main", "render", "--stack", stack, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(done.stderr.strip() or f"`interlock render --stack {stack}` ended with {done.returncode}", done.returncode)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _context(given: Mapping[str, Any], name: str) -> str:
    was = f"context {given['context']}" if "context" in given else f"local control plane {given.get('local')}"
    return f"{was} -> local control plane {name}"
