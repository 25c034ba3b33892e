"""Why an engine would refuse its arguments before or while it loads."""
