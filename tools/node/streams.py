"""Keep-alive clients that stream from a server through its Service, from inside the cluster's network, and count what became of it.

usage: python -m tools.node.streams LOAD   (run by ``streaming``; ends when its input is closed, and prints the tally)
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tools.cluster import lifecycle as clusters
from tools.cluster.state import Cluster
from tools.common import ROOT
from tools.runtime.load import Load, Tally, drive

CLIENTS, TOKENS, PAUSE_SECONDS, MOST_SECONDS = 64, 8, 2.0, 900.0
"""Many small streams: two processors carry the clients, the engines and the start of another engine. The pause is far below the 5 s after
which vLLM closes a connection that idles: who sends just then loses a request, at any time and under any supervisor."""
AHEAD = -15
"""Niceness of the clients, within their session and of it: one that reads late takes an idle connection for a fresh one."""
GROUP = Path("/proc/self/autogroup")


@contextmanager
def streaming(cluster: Cluster, namespace: str, service: str, workers: int = CLIENTS) -> Iterator[Tally]:
    """Clients beside the block; the tally is filled when the block ends."""
    address = clusters.kubectl(cluster, "-n", namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}")
    load = Load(80, workers, TOKENS, MOST_SECONDS, host=address, patience=60, pause=PAUSE_SECONDS)
    command = [*cluster.enter(), sys.executable, "-m", "tools.node.streams", json.dumps(asdict(load))]
    tally = Tally()
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield tally
        finally:
            text, _ = process.communicate()
    told = json.loads(text)
    tally.counts.update(told["counts"])
    tally.notes.update(told["notes"])


def main(load: Load) -> Tally:
    """Drives the clients until the input ends; a stream that has begun is read to its end."""
    os.nice(AHEAD)
    with contextlib.suppress(OSError):  # a kernel without groups by session needs none
        GROUP.write_text(str(AHEAD), "ascii")
    watcher = threading.Thread(target=sys.stdin.read, daemon=True)
    watcher.start()
    return asyncio.run(drive(load, Tally(), lambda: not watcher.is_alive()))


if __name__ == "__main__":
    made = main(Load(**json.loads(sys.argv[1])))
    print(json.dumps({"counts": made.counts, "notes": made.notes}))
