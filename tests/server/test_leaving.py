"""CLI-01: the end of a process does not wait for background threads, and none of them crashes it."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, os, sys, threading
from pydantic import BaseModel, field_validator
from remit_server.streams import standard_streams

started = threading.Event()

def say(words):
    os.write(1, f"{words}\\n".encode())

class Judged(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def take_long(cls, number):
        started.set()
        while True:
            pass

atexit.register(say, "tidied")
if sys.argv[1] == "busy":
    threading.Thread(target=lambda: Judged(number=1), daemon=True).start()
    started.wait()
threading.Thread(target=lambda: say("waited for")).start()
say("said")
standard_streams.leave(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["busy", "none"])
def test_a_thread_in_compiled_code_does_not_abort_the_end(threads: str):
    command = [sys.executable, "-c", PROGRAM, threads]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert sorted(ended.stdout.splitlines()) == ["said", "tidied", "waited for"]
