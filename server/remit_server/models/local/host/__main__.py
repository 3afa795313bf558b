"""The model process's entry point; the end of its pipe ends the process (MOD-02)."""

from __future__ import annotations

import logging
import os
import sys
import threading

from remit_server.models.local.host.worker import Worker
from remit_server.models.local.wire import (
    AskStats,
    Cancel,
    Error,
    Frame,
    FrameBuffer,
    Generate,
    Load,
    Request,
    Shutdown,
    WireError,
    decode_request,
    encode,
)

STOP_TIMEOUT_S = 10.0
_CHUNK = 1 << 16


class Pipe:
    """The output: whole frames, one at a time, from any thread. After the reader has gone, messages are dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._broken = False

    def send(self, message: Frame) -> None:
        """Writes one message."""
        frame = memoryview(encode(message))
        with self._lock:
            try:
                while frame and not self._broken:
                    frame = frame[os.write(self._descriptor, frame) :]
            except OSError:
                self._broken = True


class Host:
    """Carries out requests."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._worker: Worker | None = None

    def take(self, request: Request) -> bool:
        """Carries out a request. Returns False after the last one. Raises WireError for one that is out of order."""
        match request:
            case Load():
                if self._worker is not None:
                    raise WireError("a model is loaded already")
                self._worker = Worker(request, self._pipe.send)
                self._worker.start()
            case Generate() | Cancel() | AskStats():
                if self._worker is None:
                    raise WireError("no model was loaded")
                self._worker.submit(request)
            case Shutdown():
                return False
        return True

    def close(self) -> bool:
        """Stops the model's thread. Returns False if it does not stop."""
        return self._worker is None or self._worker.stop(STOP_TIMEOUT_S)


def main() -> int:
    """Serves until the pipe ends or a shutdown is requested. Exit codes: 0 on request, 2 for invalid input."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    source, target = take_over_stdio()
    pipe = Pipe(target)
    host = Host(pipe)
    code = 0
    try:
        serve(source, host)
    except WireError as error:
        pipe.send(Error(what="the model process cannot read a request", why=str(error), fix="report this as a bug"))
        code = 2
    if not host.close():
        # A thread inside MLX cannot be stopped from outside, and a normal exit would abort in it.
        os._exit(code or 1)
    return code


def serve(source: int, host: Host) -> None:
    """Reads requests until the input ends. Raises WireError for invalid input."""
    buffer = FrameBuffer()
    while data := os.read(source, _CHUNK):
        for payload in buffer.feed(data):
            if not host.take(decode_request(payload)):
                return


def take_over_stdio() -> tuple[int, int]:
    """Reserves the pipe for frames: output of libraries goes to stderr, and their input is empty."""
    source, target = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source, target


if __name__ == "__main__":
    sys.exit(main())
