"""Secrets: none in clear in files, environments or on command lines."""

import math
import re
from collections import Counter
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import engine_containers
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.rules.ver_images import words

_SECRET_FLAGS = ("api-key", "hf-token", "token", "aws-secret-access-key")
_SECRET_NAME = re.compile(r"(TOKEN|API[_-]?KEY|SECRET|PASSWORD|PASSWD|ACCESS_KEY|PRIVATE_KEY)S?$", re.IGNORECASE)
_NO_SECRET = re.compile(r"(MAX|MIN|NUM|COUNT|LIMIT|BUDGET|LENGTH|TOKENS?_PER|_TOKENS)", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"your|change|replace|insert|example|placeholder|dummy|xxx+|\.\.\.|todo|fixme|<[^>]*>|\*\*\*+|sample|redacted|foobar|my[-_]?(secret|token|key)"
    r"|put[-_ ]|enter[-_ ]|fill|secret-?(key|token)?$|token$|^(hf|sk)[-_]x*$|abc123|123456",
    re.IGNORECASE,
)
_NOT_SECRET = (
    "",
    "empty",
    "none",
    "null",
    "na",
    "n/a",
    "false",
    "true",
    "no-key",
    "nokey",
    "not-needed",
    "not-used",
    "unused",
    "fake",
    "test",
    "sk-no-key-required",
)
_REAL = re.compile(
    r"^(hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|nvapi-[\w-]{40,}|glpat-[\w-]{18,}|xox[abpr]-[\w-]{20,}|eyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]*)$"
)
_EXPANSION = re.compile(r"\$[({]?([A-Za-z_][A-Za-z0-9_]*)[)}]?")


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def judged(value: str) -> str:
    """``real``, ``placeholder`` or ``""`` for a value that stands where a secret belongs."""
    text = value.strip().strip("'\"")
    if text.lower() in _NOT_SECRET or _EXPANSION.match(text):
        return ""
    if _REAL.match(text) and entropy(text) > 3 and not re.search(r"(.)\1{5,}|example", text, re.IGNORECASE):
        return "real"
    if _PLACEHOLDER.search(text):
        return "placeholder"
    # No spaces, paths, addresses or host names: letters and digits mixed at random.
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text) and not re.search(r"[\s/:@]|^[a-z0-9.-]+\.[a-z]{2,}$", text)
    return "real" if mixed and len(text) >= 20 and entropy(text) > 3.3 else "word"


@rule(
    "SEC-001",
    Severity.ERROR,
    demand="No key stands in clear on the command line.",
    reason="It is in the file, in the API server, in ps of the node, and in every dump of the pod; start-up logs print it.",
    source="Kubernetes documentation, 'Good practices for Kubernetes Secrets'; vllm serve prints its non-default arguments",
    remedy="Give VLLM_API_KEY or HF_TOKEN from a Secret.",
    fault="secret-literal-arg",
    links=("https://kubernetes.io/docs/concepts/security/secrets-good-practices/",),
)
def literal_argument(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for flag in workload.engine.flags:
        if flag.name not in _SECRET_FLAGS or not flag.value.known or flag.value.get() in ("true", "false"):
            continue
        kind = judged(flag.value.get())
        if kind in ("real", "word") and not _EXPANSION.search(flag.value.get()):
            text = f"--{flag.name} carries its value in clear: it stands in this file, in the API server and in ps"
            yield Hit(flag.path, text, _FROM_SECRET, f"--{flag.name} ***")


_FROM_SECRET = "take it from a Secret by an environment variable that the engine reads (VLLM_API_KEY, HF_TOKEN)"


def _sensitive(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET.search(name)


@rule(
    "SEC-002",
    Severity.ERROR,
    demand="No real token stands in a plain environment value.",
    reason="Whoever reads the file or the pod has it; a token in a repository is found by scanners within minutes.",
    source="Kubernetes documentation, 'Good practices for Kubernetes Secrets'",
    remedy="Use valueFrom.secretKeyRef and revoke the token.",
    fault="secret-literal-env",
    links=("https://kubernetes.io/docs/concepts/security/secrets-good-practices/",),
)
def literal_environment(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for container in pod.containers:
            for name, fact in container.env.items():
                if fact.known and (_REAL.match(fact.get().strip()) or _sensitive(name)) and judged(fact.get()) == "real":
                    text = f"{name} carries a real-looking token in clear"
                    yield Hit(fact.path, text, "take it from a Secret with valueFrom.secretKeyRef, and revoke this one", f"{name}=***")


@rule(
    "SEC-003",
    Severity.ERROR,
    demand="No real token stands in a Secret or ConfigMap of the files.",
    reason="base64 is not encryption: a Secret in a repository is a token in a repository.",
    source="Kubernetes documentation, 'Secrets' (information security for Secrets)",
    remedy="Make the Secret outside the repository and revoke the token.",
    fault="secret-literal-value",
    links=("https://kubernetes.io/docs/concepts/configuration/secret/",),
    of="bundle",
)
def literal_secret(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for item in bundle.secrets:
        for name, fact in item.data.items():
            whole = fact.known and "\n" not in fact.get().strip()
            if whole and judged(fact.get()) == "real" and (_REAL.match(fact.get().strip()) or _sensitive(name)):
                text = f"{item.origin.kind} {item.origin.name} carries a real-looking token in clear ({name})"
                remedy = "keep it out of the repository (External Secrets, Sealed Secrets, SOPS), and revoke this one"
                yield Hit(fact.path, text, remedy, f"{name}=***", origin=item.origin)


@rule(
    "SEC-004",
    Severity.WARNING,
    demand="No placeholder stands where a secret belongs.",
    reason="Applied as it is, it overwrites the real Secret: downloads fail with 401, or the API key is a word that everybody knows.",
    source="Kubernetes documentation, 'Secrets'",
    remedy="Refer to a Secret that is made elsewhere.",
    fault="secret-placeholder",
    of="bundle",
)
def placeholders(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    text = (
        "a placeholder stands where a secret belongs: applied as it is, downloads or requests fail, or the key is one that everybody knows"
    )
    remedy = "refer to a Secret that is made elsewhere"
    for workload in bundle.workloads:
        if workload.engine.name != "vllm":
            continue
        for pod in workload.pods:
            for container in pod.containers:
                for name, fact in container.env.items():
                    if _sensitive(name) and fact.known and judged(fact.get()) == "placeholder":
                        yield Hit(fact.path, text, remedy, f"{name}={fact.get()[:40]}", origin=workload.origin)
        for flag in workload.engine.flags:
            if flag.name in _SECRET_FLAGS and flag.value.known and judged(flag.value.get()) == "placeholder":
                yield Hit(flag.path, text, remedy, f"--{flag.name} {flag.value.get()[:40]}", origin=workload.origin)
    for item in bundle.secrets:
        for name, fact in item.data.items():
            judge_it = item.origin.kind == "Secret" or _sensitive(name)
            if judge_it and fact.known and "\n" not in fact.get().strip() and judged(fact.get()) == "placeholder":
                yield Hit(fact.path, text, remedy, f"{name}={fact.get()[:40]}", origin=item.origin)


@rule(
    "SEC-005",
    Severity.WARNING,
    demand="A secret is not expanded on the command line.",
    reason="Kubernetes or the shell writes its value into the process's arguments, which ps and /proc of the node show.",
    source="Kubernetes documentation, 'Define Environment Variables for a Container' (dependent variables); proc(5) cmdline",
    remedy="Let the engine read the variable itself.",
    fault="secret-env-expanded-arg",
)
def expanded_argument(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flags = {flag.path: flag for flag in workload.engine.flags if flag.name in _SECRET_FLAGS}
    for flag in flags.values():
        names = _EXPANSION.findall(f"{flag.raw} {flag.value.why if flag.value.unknown else flag.value.value}")
        if names and (flag.value.unknown or _EXPANSION.search(str(flag.value.value))):
            text = f"{names[0]} is expanded into --{flag.name}: the secret is visible in ps and /proc of the node"
            yield Hit(flag.path, text, _FROM_SECRET, f"--{flag.name} $({names[0]})")
    own = {id(container) for _, container in engine_containers(workload)} if flags else set()
    for container in (each for pod in workload.pods for each in pod.containers if id(each) not in own):
        for word, path in words(container):
            for name in _EXPANSION.findall(word):
                secret = container.env_sources.get(name, "").startswith("secretKeyRef")
                if secret and _sensitive(name) and re.search(rf"--(api[-_]key|(?:hf[-_])?token)[= ]+[\"']?\$[({{]?{name}", word):
                    text = f"{name} is expanded on the command line: the secret is visible in ps and /proc of the node"
                    yield Hit(path, text, _FROM_SECRET, f"$({name})")
