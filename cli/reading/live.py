"""What the cluster of a stack holds of its objects."""

from collections.abc import Sequence

from interlock.cli.stackfile import StackFile
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.placed import Manifest
from interlock.stacks.api import ApiError, NotUsableError, open_reader
from interlock.stacks.kubeconfig import context_of, kubeconfig_path
from interlock.stacks.present import Present, present


def live(read: StackFile, wanted: Sequence[Manifest]) -> Present:
    """The objects, cut to what a deployment states. Raises ConfigError where the cluster cannot be asked."""
    context, kubeconfig = context_of(read.config), kubeconfig_path(read.config)
    try:
        return present(open_reader(kubeconfig, context), read.stack, wanted)
    except NotUsableError as error:
        way = "start it with `make up`" if read.config.target.local else "name the kubeconfig in target.kubeconfig or KUBECONFIG"
        told = f"context {context!r} cannot be used from {kubeconfig}: {error}; {way}"
    except ApiError as error:
        told = f"the cluster behind {context} does not answer as an API server: {error}"
    raise ConfigError([Problem("target", told, read.source)])
