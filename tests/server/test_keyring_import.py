"""What looks for the operating system's keyring starts no compiler (AUD-04, MOD-15)."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOKS = """
import sys
from programs_started import programs_started
from remit_governance.os_keyring import import_keyring
with programs_started() as started:
    print(type(import_keyring().get_keyring()).__module__)
print(started)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="this is about the systems that are not macOS")
def test_AUD_04_a_look_for_a_keyring_starts_no_program(pytestconfig: pytest.Config) -> None:
    support = pytestconfig.rootpath / "tests" / "support"
    # Nothing of the surroundings names a back end: it is looked for.
    done = subprocess.run(
        [sys.executable, "-c", LOOKS],
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(support)},
        capture_output=True,
        text=True,
    )
    backend, started = done.stdout.splitlines()
    assert backend.startswith("keyring."), done.stderr
    assert started == "[]"
