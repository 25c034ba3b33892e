"""The environment in which Pulumi works on a local cluster: the tools on PATH, a file backend, the local stack's passphrase."""

import os
import sys
from pathlib import Path

from tools.build import decide
from tools.cluster.state import Cluster
from tools.common import ROOT, home
from tools.toolchain_families import select

# Local stacks hold no secret worth more than the machine they run on; the salt in Pulumi.dev.yaml belongs to this passphrase.
LOCAL_PASSPHRASE = "interlock-local"


def variables(cluster: Cluster, bin_folder: Path) -> dict[str, str]:
    """What is added to the environment: PATH, kubeconfig, backend below the cluster's folder (so that it goes with the cluster)."""
    backend = cluster.folder / "pulumi"
    backend.mkdir(exist_ok=True)
    values = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "INTERLOCK_RUN": str(cluster.folder.parent),
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": LOCAL_PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(bin_folder), os.environ.get("PATH", "")]),
    }
    if not decide(select(["pulumi"], []))[0].use:
        # A Pulumi of our own takes its provider from PATH; it must not try to fetch others, nor touch a person's own plugin folder.
        values |= {
            "PULUMI_HOME": str(home() / "pulumi"),
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # The plugin of the random provider cannot be had either; keys of tenants are made by a stand-in.
            "PATH": os.pathsep.join([str(ROOT / "tools" / "random_provider" / "bin"), values["PATH"]]),
            "INTERLOCK_PYTHON": sys.executable,
            "INTERLOCK_LANGUAGE_HOST": str(ROOT / "tools" / "language_host" / "host.py"),
        }
    return values
