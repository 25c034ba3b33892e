"""What a team puts on everything that runs in its cluster: labels, annotations, a mirror of images, a proxy, its own certificates."""

from pydantic import Field, field_validator

from interlock.infra.config.base import Config, LabelKey, LabelValue, ObjectName, Plain

OURS = ("interlock.dev/", "app.kubernetes.io/managed-by", "app.kubernetes.io/name", "app.kubernetes.io/instance")
"""Beginnings of keys that this program writes itself."""


class ProxyConfig(Config):
    """How pods reach servers outside the cluster."""

    url: str = Field(pattern=r"^https?://[^\s/]+/?$")
    """Address of the proxy, for http and https."""
    no_proxy: tuple[Plain, ...] = (".svc", ".cluster.local", "localhost", "127.0.0.1")
    """Hosts that are reached without it."""


class CertificatesConfig(Config):
    """Authorities that a company's own servers are signed by, beside the public ones."""

    config_map: ObjectName
    """Existing ConfigMap in the stack's namespace, such as trust-manager makes."""
    key: Plain = "ca-certificates.crt"
    """Its key with all authorities that count, the public ones too."""


class Conventions(Config):
    """What goes onto every object or into every pod of the stack."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of every object, and of the pods of servers (a change replaces these pods)."""
    annotations: dict[LabelKey, str] = Field(default_factory=dict)
    """Annotations of every object, not of pods (``extra.annotations``)."""
    registry: Plain | None = None
    """Mirror that stands in front of every image, such as ``mirror.example.org/hub``; what begins with it already is left as it is."""
    proxy: ProxyConfig | None = None
    """Proxy of engines and Jobs."""
    certificates: CertificatesConfig | None = None
    """Authorities of engines and Jobs."""

    @field_validator("labels", "annotations")
    @classmethod
    def _not_ours(cls, value: dict[str, str]) -> dict[str, str]:
        if wrong := next((key for key in value if key.startswith(OURS)), ""):
            raise ValueError(f"{wrong!r} is written by this program: choose another key")
        return value
