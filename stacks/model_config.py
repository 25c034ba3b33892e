"""Reads one config.json. Apart from the stack's configuration, which `size` and `check` do not load."""

import json
from pathlib import Path
from typing import Any


def read_config(path: Path) -> dict[str, Any]:
    """The object in a config.json, or in the folder that holds one. Raises ValueError with what is wrong."""
    file = path / "config.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        inside = "the folder's config.json " if path.is_dir() else ""
        raise ValueError(f"{inside}cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("does not hold a JSON object")
    return found
