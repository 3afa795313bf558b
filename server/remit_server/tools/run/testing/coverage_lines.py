"""Reports how many lines of each file ran, as measured by coverage.py, by the channel of the report (FLW-08).

Tests could replace a report in a file, so coverage.py writes to a file with a name that nobody knows. Remit is not
installed in the sandbox, so this module imports only the standard library, and works with any Python 3.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def tell(write: Callable[[dict[str, Any]], None], measured: Any) -> None:
    """Writes a line of the report, unless nothing was measured. `measured` is a `coverage.Coverage`."""
    files: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, suppress(Exception):
        file = Path(folder, "report")
        measured.json_report(outfile=str(file))
        files = json.loads(file.read_text(encoding="utf-8"))["files"]
    if files:
        found = [
            {
                "path": path,
                "ran": each["summary"]["covered_lines"],
                "all": each["summary"]["num_statements"],
                "missed": each["missing_lines"],
            }
            for path, each in files.items()
        ]
        write({"coverage": {"files": found}})
