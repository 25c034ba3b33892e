"""Every condition that stops a start, read from the artefacts themselves, and which rule tells it before: python -m tools.mechanisms."""
