"""Governance imports no editor, no model and no server (POL-01)."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import importlib, pkgutil, sys
import remit_governance
for module in pkgutil.walk_packages(remit_governance.__path__, "remit_governance."):
    importlib.import_module(module.name)
found = [n for n in ("pygls", "lsprotocol", "mlx", "mlx_lm", "llguidance", "remit_server", "asyncio") if n in sys.modules]
print(len([n for n in sys.modules if n.startswith("remit_governance")]), found)
"""


@pytest.mark.slow
def test_governance_imports_no_server_no_editor_no_model() -> None:
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    count, found = out.split(" ", 1)
    assert int(count) > 20
    assert found.strip() == "[]"
