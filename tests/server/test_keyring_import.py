"""The look for the operating system's keyring starts no compiler (AUD-04, MOD-15)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remit_governance.os_keyring import may_have_keyring

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
    # No variable names a back end, so it is looked for.
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


@pytest.mark.parametrize(
    ("environment", "system", "worth"),
    [
        ({}, "linux", False),
        ({}, "freebsd14", False),
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus"}, "linux", True),
        ({"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"}, "linux", True),
    ],
)
def test_AUD_04_a_keyring_is_looked_for_where_there_may_be_one(
    tmp_path: Path, environment: dict[str, str], system: str, worth: bool
) -> None:
    nowhere = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    assert may_have_keyring({**nowhere, **environment}, system) is worth


@pytest.mark.parametrize("there", ["run/bus", ".config/python_keyring/keyringrc.cfg"])
def test_AUD_04_a_bus_or_a_configured_keyring_is_found_on_the_disk(tmp_path: Path, there: str) -> None:
    (tmp_path / there).parent.mkdir(parents=True)
    (tmp_path / there).touch()
    assert may_have_keyring({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}, "linux")
