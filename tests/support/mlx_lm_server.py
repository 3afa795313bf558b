"""mlx-lm's own server with a model of random weights, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llama_server import wait_until_ready

READY_S = 90


@contextmanager
def mlx_lm_server(model: Path, home: Path) -> Iterator[tuple[str, Path]]:
    """Yields the server's address and its log. If `home` has no folder for models of the hub, its list of models is
    empty."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlx_lm", "server", "--model", str(model), "--port", str(port)]
    log = home / "server.log"
    environment = {**os.environ, "HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    environment.pop("HF_HOME", None)
    environment.pop("HF_HUB_CACHE", None)
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        try:
            wait_until_ready(process, port, "mlx_lm.server", READY_S)
            yield f"http://127.0.0.1:{port}/v1", log
        finally:
            process.kill()
            process.wait()
