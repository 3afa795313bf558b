"""Writers that are killed, that fail, or whose leftovers are collected, at the N-th system call of `write_atomically`.

One process has imported everything and forks one writer after the other. Each call of a function of `posix` or `fcntl`,
such as `open`, `write`, `fsync` or `rename`, is counted before it is made.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import BuiltinFunctionType, FrameType, TracebackType
from typing import Any, Literal, Self


@dataclass(frozen=True, slots=True)
class Order:
    """What the next writer is to do, and what happens at call `step`: it is killed, another server collects leftovers,
    or the call fails with this errno. `uid` is the user as whom it writes."""

    path: str
    content: str
    step: int = -1
    fault: Literal["kill", "collect"] | int = "kill"
    uid: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """How the writer `ended`: `killed`, `done`, or an error's code. `call` is the call of the order's step, None past
    the last one; `made` are the calls before it, in order."""

    ended: str
    call: str | None
    made: tuple[str, ...] = ()


class Writers:
    """The process that forks the writers; use it as a context."""

    def __init__(self, root: Path, script: str = __file__) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, script, str(root)], stdin=pipe, stdout=pipe, text=True)

    def write(self, order: Order) -> Report:
        """Let one writer carry out the order, and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        return Report(said["ended"], said["call"], tuple(said["made"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def serve(root: Path, write: Callable[[Path, Order, int], None]) -> None:
    for line in sys.stdin:
        order = Order(**json.loads(line))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            write(root, order, writing)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read().split()  # the calls before, the call, then how it ended
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        call = next((word.removeprefix("call:") for word in said if word.startswith("call:")), None)
        made = [word.removeprefix("made:") for word in said if word.startswith("made:")]
        print(json.dumps({"ended": "killed" if killed else said[-1], "call": call, "made": made}), flush=True)


def write(root: Path, order: Order, out: int) -> None:
    """Carry out the order; the writer's process does nothing else."""
    from remit_server.errors import ToolError
    from remit_server.workspace.content.files import read_image, write_atomically
    from remit_server.workspace.paths.workspace_path import Workspace

    workspace = Workspace(root)
    path = workspace.resolve(order.path)
    before = read_image(workspace, path) if path.absolute.exists() else None
    if order.uid is not None:
        os.setuid(order.uid)
    sys.setprofile(Fault(workspace, order, out))
    try:
        write_atomically(workspace, path, before, order.content.encode())
        ended = "done"
    except ToolError as error:
        ended = error.code.value
    finally:
        sys.setprofile(None)
    os.write(out, f" {ended}".encode())


class Fault:
    """A profiler that counts system calls, and causes the order's fault at one of them."""

    def __init__(self, workspace: Any, order: Order, out: int) -> None:
        self._workspace, self._order, self._out = workspace, order, out
        self._made: list[str] = []

    def __call__(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or not isinstance(function, BuiltinFunctionType) or not self._counts(function):
            return
        self._made.append(function.__name__)
        if len(self._made) - 1 != self._order.step:
            return
        os.write(
            self._out, " ".join([*(f"made:{name}" for name in self._made[:-1]), f"call:{function.__name__}"]).encode()
        )
        match self._order.fault:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "collect":
                from remit_server.workspace.content.files import collect_leftovers

                collect_leftovers(self._workspace)
            case int() as number:
                raise OSError(number, os.strerror(number))

    def _counts(self, function: BuiltinFunctionType) -> bool:
        # Do not make `close` fail, because a `close` that fails closes the file all the same.
        pure = {"fspath", "fsdecode", "fsencode", "geteuid", "getegid", "strerror"}
        harmless = pure if self._order.fault == "kill" else {*pure, "close"}
        return function.__module__ in {"posix", "fcntl"} and function.__name__ not in harmless


if __name__ == "__main__":
    serve(Path(sys.argv[1]), write)
