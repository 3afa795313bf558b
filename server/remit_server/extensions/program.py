"""The program in the sandbox: it gets rules through its standard input and answers questions about them. Standard
library only.

Each message is four bytes of length and JSON, `{id, load}` or `{id, rules, action}`; each answer `{id, answer}`. No
other module imports this file; the sandboxed Python runs its text.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Any

Rule = Callable[[dict[str, Any]], Any]

_VERDICTS = ("allow", "deny", "pass", "require_review")
_MAX_TEXT = 500


def main() -> None:
    """Serve until standard input ends."""
    limited(int(sys.argv[1]))
    os.environ.clear()  # a container sets variables of its own
    source, sink = os.dup(0), os.dup(1)
    # A rule's own input and output must not mix with the messages, so connect both to the null device. Without that
    # device, use standard error, which leads nowhere.
    nowhere = os.open(os.devnull, os.O_RDWR) if os.path.exists(os.devnull) else 2  # noqa: PTH110
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    rules: dict[str, tuple[str, Rule]] = {}
    send(sink, {"id": None, "answer": "ready"})
    while (message := received(source)) is not None:
        answer = loaded(rules, message["load"]) if "load" in message else asked(rules, message)
        send(sink, {"id": message["id"], "answer": answer})


def limited(memory_bytes: int) -> None:
    """Lower the resource limits for good, before the first rule is loaded."""
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 32),
    ):
        hard = resource.getrlimit(kind)[1]
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (wanted, wanted))


def loaded(rules: dict[str, tuple[str, Rule]], source: dict[str, str]) -> dict[str, Any] | None:
    """Run a file's top level and keep its rule. Returns the error and its place if that fails, else None."""
    file, scope = source["file"], {"__name__": source["name"]}
    try:
        exec(compile(source["text"], file, "exec", dont_inherit=True), scope)  # noqa: S102 this is what we are for
        rules[source["name"]] = (file, scope["rule"])  # type: ignore[assignment]
    except BaseException as error:  # also `exit()` must not end this program
        line, column = place(error, file)
        return {"error": said(error), "line": line, "column": column}
    return None


def asked(rules: dict[str, tuple[str, Rule]], question: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the answer of each named rule; each gets its own copy of the action."""
    action = json.dumps(question["action"])
    return [verdict(*rules[name], json.loads(action)) for name in question["rules"]]


def verdict(file: str, rule: Rule, action: dict[str, Any]) -> dict[str, Any]:
    """Returns one rule's answer, or the error for which there is none."""
    try:
        word, reason = spelled(rule(action))
    except BaseException as error:
        return {"error": f"{said(error)} (line {place(error, file)[0]})"}
    if word not in _VERDICTS:
        return {"error": "it returned none of `allow`, `deny`, `pass`, `require_review`"}
    return {"verdict": word, "reason": reason}


def spelled(result: object) -> tuple[str, str | None]:
    """Returns the word and the reason from a rule's result; an empty word if the result has another form."""
    match result:
        case str(word) | (str(word), None):
            return str(word), None
        case (str(word), str(reason)):
            return str(word), str(reason)[:_MAX_TEXT]
        case _:
            return "", None


def said(error: BaseException) -> str:
    """Returns the error in words, even if its `__str__` fails."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}"[:_MAX_TEXT].removesuffix(": ")


def place(error: BaseException, file: str) -> tuple[int, int]:
    """Returns the line and column, from 1, in this file at which the error was raised or passed through last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return (frames[-1].lineno or 1, (frames[-1].colno or 0) + 1) if frames else (1, 1)


def received(source: int) -> dict[str, Any] | None:
    """Returns the next message; None at the end."""
    head = exactly(source, 4)
    body = exactly(source, struct.unpack(">I", head)[0]) if head else b""
    return json.loads(body) if body else None


def exactly(source: int, count: int) -> bytes:
    """Returns `count` bytes; none if the input ends before."""
    data = bytearray()
    while len(data) < count:
        chunk = os.read(source, count - len(data))
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


def send(sink: int, message: dict[str, Any]) -> None:
    """Write one message."""
    body = json.dumps(message).encode()
    data = memoryview(struct.pack(">I", len(body)) + body)
    while data:
        data = data[os.write(sink, data) :]


if __name__ == "__main__":
    main()
