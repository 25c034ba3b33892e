"""The node's driver against the CUDA version that the image was built with."""

import json
import pkgutil
from typing import Any

from interlock.runtime.preflight.look import Result, World, fine, problem, unseen

KIND = "driver"
FORWARD = "usr/local/cuda*/compat/**/libcuda.so*"
"""Where images keep NVIDIA's forward compatibility package."""


def table() -> dict[str, Any]:
    """Driver branches by CUDA major version, with the source."""
    found: dict[str, Any] = json.loads(pkgutil.get_data(__name__, "drivers.json") or b"{}")
    return found


def look(driver: str, cuda: str, world: World) -> Result:
    """``driver`` as NVML says it, ``cuda`` as the plan does (`13.0`)."""
    known = table()
    needed = known["minimum_branch"].get(cuda.partition(".")[0])
    branch = driver.partition(".")[0]
    if needed is None or not branch.isdigit():
        return unseen(KIND, f"no driver branch is known for CUDA {cuda} (driver {driver})")
    if int(branch) >= needed:
        return fine(KIND, f"driver {driver} runs CUDA {cuda} (branch {needed} or newer)")
    if any(world.root.glob(FORWARD)):
        return unseen(
            KIND, f"driver {driver} is older than branch {needed} of CUDA {cuda}; the image has the forward compatibility package"
        )
    return problem(
        KIND,
        f"driver {driver} cannot run CUDA {cuda} of this image: branch {needed} or newer can; update the driver or take another image",
    )
