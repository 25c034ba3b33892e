"""The components as a Pulumi package, for programs in any language: everything is in host.py."""

from interlock.components.host import serve
from interlock.components.package import COMPONENTS

if __name__ == "__main__":
    serve(COMPONENTS)
