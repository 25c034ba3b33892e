"""Asks the cluster that a stack's target names."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from interlock.cli.stackfile import StackFile
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.placed import Manifest
from interlock.stacks.api import ApiError, NotUsableError, Reader, open_reader
from interlock.stacks.kubeconfig import context_of, kubeconfig_path
from interlock.stacks.present import Present, present

Answer = TypeVar("Answer")


def live(read: StackFile, wanted: Sequence[Manifest]) -> Present:
    """The stack's objects, cut to what a deployment states. Raises ConfigError where the cluster cannot be asked."""
    return asked(read, lambda api: present(api, read.stack, wanted))


def asked(read: StackFile, question: Callable[[Reader], Answer]) -> Answer:
    """The answer of the cluster. Raises ConfigError where it cannot be asked."""
    context, kubeconfig = context_of(read.config), kubeconfig_path(read.config)
    try:
        return question(open_reader(kubeconfig, context))
    except NotUsableError as error:
        way = "start it with `make up`" if read.config.target.local else "name the kubeconfig in target.kubeconfig or KUBECONFIG"
        told = f"context {context!r} cannot be used from {kubeconfig}: {error}; {way}"
    except ApiError as error:
        told = f"the cluster behind {context} does not answer as an API server: {error}"
    raise ConfigError([Problem("target", told, read.source)])
