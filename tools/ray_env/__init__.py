"""The Ray environment: the Ray of the track ``ray`` without vLLM, in a virtual environment of its own."""
