"""What another program pipes into `remit`: a prompt of its own, or something that a prompt is about (CLI-17)."""

from __future__ import annotations

import os
import select

from remit_server.cli.usage import WrongUsage
from remit_server.streams import piped_in

MOST_BYTES = 150_000
"""More is no message: it is a file, and can be named."""
PATIENCE_S = 1.0
"""How long a prompt that stands alone waits for the first byte: whoever starts `remit` may leave a pipe open."""


def piped_text(patience_s: float | None = None) -> str | None:
    """Returns all of standard input, where that is a pipe, a file or a socket; None otherwise, and where it is empty.

    With `patience_s` it is left alone where nothing comes within so many seconds. Raises WrongUsage for more than
    `MOST_BYTES`.
    """
    descriptor = piped_in()
    if descriptor is None or not _is_ready(descriptor, patience_s):
        return None
    data = b""
    while len(data) <= MOST_BYTES and (more := os.read(descriptor, MOST_BYTES + 1 - len(data))):
        data += more
    if len(data) > MOST_BYTES:
        why = f"it has more than {MOST_BYTES:,} bytes"
        raise WrongUsage("standard input cannot be sent", why, "put it into a file, and name that in the prompt")
    return data.decode("utf-8", errors="replace").strip("\n") or None


def with_piped(prompt: str, text: str) -> str:
    """Returns a prompt, and what was piped to it, told apart."""
    return f"{prompt}\n\nStandard input:\n{text}"


def _is_ready(descriptor: int, patience_s: float | None) -> bool:
    return patience_s is None or bool(select.select([descriptor], [], [], patience_s)[0])
