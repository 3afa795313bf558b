"""Does work as a user whom the modes of files bind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def as_somebody_else(work: Callable[[Path], None]) -> None:
    """Do the work in a process that is not root, because modes do not bind root."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o777)
        if os.geteuid() != 0:
            work(root)
            return
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setuid(65534)
                work(root)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
