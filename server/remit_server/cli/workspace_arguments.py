"""The arguments of every command that works in a workspace (CLI-01).

Apart from `remit ask`: a command that runs no turn imports nothing of what runs one, which takes most of a second.
"""

from __future__ import annotations

import argparse
from pathlib import Path

HERE = Path()
"""The workspace where none is named."""


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--workspace", type=Path, default=HERE, help="the folder to work in (default: the current one)")
