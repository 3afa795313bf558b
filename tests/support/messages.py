"""Sentences that the product says and tests look for, by name: `tests/messages.yaml` has each once.

To reword a sentence, change it there, and no test. A test that can check a code or data instead does that.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import yaml

FILE = Path(__file__).parents[1] / "messages.yaml"
SAYS = SimpleNamespace(**yaml.safe_load(FILE.read_text("utf-8")))
