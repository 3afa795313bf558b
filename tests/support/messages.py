"""Sentences that the product says and tests look for, by name: `tests/messages.yaml` has each once.

Whoever rewords one changes it there, and no test. A test that can ask for a code or for data asks for that.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import yaml

FILE = Path(__file__).parents[1] / "messages.yaml"
SAYS = SimpleNamespace(**yaml.safe_load(FILE.read_text("utf-8")))
