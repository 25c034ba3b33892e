"""Development only: builds the toolchain, runs the local control plane and the language host. Nothing here is in the wheel."""
