"""The channel by which a report leaves the sandbox: a pipe to which tests can only append, with lines that are numbered
and signed with the run's own key (TOOL-08).

The key comes by a pipe that is read to its end before any code of the workspace runs. Remit is not installed in the
sandbox, so this module imports only the standard library, and works with any Python 3.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from hmac import new as new_hmac

REPORT_FD = 8
KEY_FD = 9


def open_channel() -> Callable[[str], None] | None:
    """Returns a function that writes a line of the report, or None in a process that was not started to report."""
    if os.environ.pop("REMIT_REPORT", None) is None:
        return None
    with os.fdopen(KEY_FD, "rb") as pipe:
        key = pipe.read().strip()
    channel = os.fdopen(REPORT_FD, "wb")
    os.set_inheritable(REPORT_FD, False)
    numbers = itertools.count()

    def write(line: str) -> None:
        signature = new_hmac(key, f"{next(numbers)} {line}".encode(), "sha256").hexdigest()
        channel.write(f"{signature} {line}\n".encode())
        channel.flush()

    return write
