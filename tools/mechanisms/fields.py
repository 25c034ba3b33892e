"""The field tables of infra/catalog: crd_fields.json (custom resources) and ray_fields.json (Ray Serve, Ray's LLM models, ray start)."""

import ast
import datetime as dt
import re
from pathlib import Path
from typing import Any

from tools.common import ROOT, say
from tools.datafile import written
from tools.mechanisms import crds
from tools.mechanisms.artefacts import ARTEFACTS, folder

CATALOG = ROOT / "infra" / "catalog"
# The newest release of these is behind what is deployed: a field that the table lacks may be a new one.
BEHIND = ("kuberay", "leaderworkerset", "prometheus-operator")
MODELS = (
    "LLMConfig", "ModelLoadingConfig", "LoraConfig", "PlacementGroupConfig", "BundleConfig", "CloudMirrorConfig", "ServeDeploySchema",
    "ServeApplicationSchema", "DeploymentSchema", "RayActorOptionsSchema", "HTTPOptionsSchema", "gRPCOptionsSchema", "LoggingConfig",
    "AutoscalingConfig", "AutoscalingPolicy", "RequestRouterConfig", "GangSchedulingConfig", "LLMServingArgs", "DPOpenAiServingArgs",
    "PDServingArgs", "GPUConfig", "TPUConfig", "CPUConfig",
)  # fmt: skip
FORBIDS = re.compile(r"""extra\s*=\s*["']forbid["']|extra = Extra\.forbid""")
CLICK = {"int": "integer", "float": "number", "str": "text", "bool": "switch"}


def write() -> None:
    """Writes both tables."""
    for name, table in (("crd_fields.json", custom_resources()), ("ray_fields.json", ray())):
        path = CATALOG / name
        path.write_text(written(table) + "\n", encoding="utf-8")
        say(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KiB")


def custom_resources() -> dict[str, Any]:
    """As k8s_fields.json, with ``enums`` and ``bounds`` of fields, and ``behind`` where newer releases may have more fields."""
    kinds: dict[str, Any] = {}
    types: dict[str, Any] = {}
    sources = []
    for artefact in ARTEFACTS:
        files = [each for part in artefact.parts for each in part.files if each.endswith(".yaml")]
        if files:
            sources.append(f"{artefact.package} {artefact.versions[-1]}")
        for file in files:
            key, name, found = crds.fields_of(folder(artefact, artefact.versions[-1]) / artefact.base / file)
            kinds[key] = {"type": name, "behind": artefact.name in BEHIND}
            types |= found
    head = {"date": dt.date.today().isoformat(), "source": f"{'; '.join(sources)} (tools/mechanisms/fields.py)"}
    return head | {"kinds": kinds, "types": dict(sorted(types.items()))}


def ray() -> dict[str, Any]:
    """Models and their fields by version, options of ``ray start`` and the names of accelerators."""
    artefact = next(each for each in ARTEFACTS if each.name == "ray")
    trees = {version: folder(artefact, version) / artefact.base for version in artefact.versions}
    return {
        "date": dt.date.today().isoformat(),
        "source": "ray wheels: llm/_internal, serve/schema.py and config.py, scripts/scripts.py, util/accelerators",
        "versions": list(trees),
        "models": _folded({version: _models(tree) for version, tree in trees.items()}),
        "start": _folded({version: _options(tree / "scripts" / "scripts.py") for version, tree in trees.items()}),
        "accelerators": _folded({version: _accelerators(tree) for version, tree in trees.items()}),
    }


def _folded(by_version: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """{version: {name: facts}} as {name: [{versions, ...facts}]}, one entry for versions that agree."""
    names = sorted({name for found in by_version.values() for name in found})
    folded: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        for version, found in by_version.items():
            facts = found.get(name)
            same = next((each for each in folded.get(name, ()) if facts == {k: v for k, v in each.items() if k != "versions"}), None)
            if facts is not None and same is not None:
                same["versions"].append(version)
            elif facts is not None:
                folded.setdefault(name, []).append({"versions": [version], **facts})
    return folded


def _models(tree: Path) -> dict[str, Any]:
    """Fields of the pydantic models that a configuration is read into."""
    found: dict[str, Any] = {}
    for path in sorted([*(tree / "llm" / "_internal").rglob("*.py"), tree / "serve" / "schema.py", tree / "serve" / "config.py"]):
        source = path.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and node.name in MODELS and node.name not in found:
                found[node.name] = _model(node, ast.get_source_segment(source, node) or "")
    return found


def _model(node: ast.ClassDef, source: str) -> dict[str, Any]:
    fields, required = {}, []
    for each in node.body:
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name) or each.target.id.startswith(("_", "model_config")):
            continue
        fields[each.target.id] = ast.unparse(each.annotation)
        call = each.value
        keywords = {word.arg for word in call.keywords} if isinstance(call, ast.Call) else set()
        if call is None or (isinstance(call, ast.Call) and not keywords & {"default", "default_factory"} and not _positional(call)):
            required.append(each.target.id)
    base = ast.unparse(node.bases[0]) if node.bases else ""
    return {"fields": fields, "required": required, "forbids_others": base == "BaseModelExtended" or bool(FORBIDS.search(source))}


def _positional(call: ast.Call) -> bool:
    """Whether ``Field(default, ...)`` gives a default; ``Field(...)`` with an ellipsis gives none."""
    return bool(call.args) and not (isinstance(call.args[0], ast.Constant) and call.args[0].value is Ellipsis)


def _options(path: Path) -> dict[str, Any]:
    """Options of ``ray start``: ``integer``, ``number``, ``text`` or ``switch``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    start = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "start")
    found = {}
    for call in (each for each in start.decorator_list if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("option")):
        words = {word.arg: word.value for word in call.keywords}
        names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and str(arg.value).startswith("--")]
        switch = isinstance(words.get("is_flag"), ast.Constant)
        kind = "switch" if switch else CLICK.get(ast.unparse(words["type"]), "text") if "type" in words else "text"
        for name in names:
            found[str(name).removeprefix("--").split("/")[0]] = {"kind": kind}
    return found


def _accelerators(tree: Path) -> dict[str, Any]:
    """Values of ``accelerator_type``."""
    module = ast.parse((tree / "util" / "accelerators" / "accelerators.py").read_text(encoding="utf-8"))
    values = [node.value.value for node in module.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
    return {str(value): {} for value in values}
