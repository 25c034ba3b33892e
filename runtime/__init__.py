"""What runs in the container: standard library, pydantic and starlette only."""
