"""A session's file, compared with a bare append of the same bytes, and the time to resume a long session.

The peer writes the same lines with one `os.write` each; neither side waits for the disk, and what either has written
outlives its process. Ours also makes the line: a checked record without secrets, as JSON. Files are in the page cache.
Run it alone: `python bench/sessions.py [--json]`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

from remit_governance.secrets.redaction import Redactor
from remit_server.contract import ModelConfig
from remit_server.models.ports import UserMessage
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile

EVENTS = 10_000
ROUND = 500
MODEL = ModelConfig(provider="bench", model="bench")


def words(number: int) -> str:
    """Returns a message that resembles no earlier one."""
    return " ".join(f"word{(number * 7919 + n * 104_729) % 99_991}" for n in range(40))


def append(path: Path, count: int) -> tuple[list[float], list[float], list[float]]:
    """Returns the microseconds per event of the whole, of the file alone, and of a bare append of the same bytes,
    alternately."""
    redact = Redactor().redact_json
    recorder = Recorder(SessionFile(path), "bench", "/w", "0", redact)
    recorder.begin("t", MODEL)
    bare = os.open(path.with_suffix(".bare"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    alone = SessionFile(path.with_suffix(".alone"))
    alone.acquire()
    whole, file_only, peer = [], [], []
    for begin in range(0, count, ROUND):
        texts = [words(number) for number in range(begin, begin + ROUND)]
        at = path.stat().st_size
        started = time.perf_counter()
        for text in texts:
            recorder.keep(UserMessage(text), text)
        whole.append((time.perf_counter() - started) / ROUND * 1e6)
        lines = path.read_bytes()[at:].splitlines(keepends=True)
        started = time.perf_counter()
        for line in lines:
            alone.append(line)
        file_only.append((time.perf_counter() - started) / ROUND * 1e6)
        started = time.perf_counter()
        for line in lines:
            os.write(bare, line)
        peer.append((time.perf_counter() - started) / ROUND * 1e6)
    os.close(bare)
    recorder.file.close()
    alone.close()
    return whole, file_only, peer


def load(path: Path) -> tuple[float, int]:
    """Returns the seconds until the conversation is loaded, and the number of its messages."""
    gc.collect()
    started = time.perf_counter()
    recorder = Recorder(SessionFile(path), "bench", "/w", "0", Redactor().redact_json)
    conversation = recorder.begin("again", MODEL)
    took = time.perf_counter() - started
    recorder.file.close()
    assert conversation is not None
    return took, len(conversation.messages)


def measure() -> dict[str, float]:
    """Returns all figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        whole, alone, peer = append(path, EVENTS)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took, messages = min(load(path) for _ in range(3))
        assert messages == EVENTS
        quarter = len(whole) // 4
        return {
            "events": EVENTS,
            "bare_append_us": statistics.median(peer),
            "file_append_us": statistics.median(alone),
            "record_us": statistics.median(whole),
            "file_ratio": statistics.median(alone) / statistics.median(peer),
            "record_ratio": statistics.median(whole) / statistics.median(peer),
            "last_quarter_to_first": statistics.median(whole[-quarter:]) / statistics.median(whole[:quarter]),
            "memory_mib": (after - before) / 1024,
            "load_s": took,
            "file_mib": path.stat().st_size / 2**20,
        }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    figures = measure()
    if parser.parse_args().json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24}{value:12.3f}")


if __name__ == "__main__":
    main()
