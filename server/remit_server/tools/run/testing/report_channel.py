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
from json import JSONEncoder
from typing import Any

REPORT_FD = 8
KEY_FD = 9
MOST_CHARS = 20_000


def _spelled(value: Any) -> Any:
    """Returns a text with lone surrogates escaped, because they cannot be encoded; of a long one only the start and the
    end, because test runners print there what matters."""
    if not isinstance(value, str):
        return value
    cut = value if len(value) <= MOST_CHARS else value[: MOST_CHARS // 2] + "\n…\n" + value[-MOST_CHARS // 2 :]
    return cut.encode("utf-8", "backslashreplace").decode()


def open_channel() -> Callable[[dict[str, Any]], None] | None:
    """Returns a function that writes an object as a line of the report at once, or None in a process that was not
    started to report."""
    if os.environ.pop("REMIT_REPORT", None) is None:
        return None
    with os.fdopen(KEY_FD, "rb") as pipe:
        key = pipe.read().strip()
    channel = os.fdopen(REPORT_FD, "wb")
    os.set_inheritable(REPORT_FD, False)
    numbers = itertools.count()
    encode = JSONEncoder().encode  # bound now, because tests may patch the module's functions

    def write(told: dict[str, Any]) -> None:
        line = encode({name: _spelled(value) for name, value in told.items()})
        signature = new_hmac(key, f"{next(numbers)} {line}".encode(), "sha256").hexdigest()
        channel.write(f"{signature} {line}\n".encode())
        channel.flush()

    return write
