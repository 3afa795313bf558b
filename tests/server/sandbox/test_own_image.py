"""An image of the person's own (REMIT_SANDBOX_IMAGE): a command can use what the image has, and the person is told so
(BOX-14)."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.containers.container_argv import ProgramName, import_argv
from remit_server.sandbox.ports import CommandSpec, Sandbox
from remit_server.sandbox.visible.environment import command_environment

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="it is made of this system")]

PROGRAMS = ("sh", "env", "nice", "cat", "rm", "mkdir", "ls")
SYSTEM_PYTHON = Path("/usr/bin/python3")
FOLDERS = ("/proc", "/sys", "/dev", "/etc", "/run", "/tmp", "/var", "/usr", "/usr/bin")


def image_of(*programs: str) -> bytes:
    """Returns a tar file of programs of this system with the libraries that they are linked with."""
    libraries: set[str] = set()
    modules: list[str] = []
    if "python3" in programs:
        code = "import sysconfig; print(sysconfig.get_path('stdlib'))"
        found = subprocess.run([SYSTEM_PYTHON, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
        modules = [found.strip()]
        libraries |= linked_with(*Path(modules[0], "lib-dynload").glob("_ctypes*.so"))
    places = {program: os.path.realpath(shutil.which(program, path="/usr/bin:/bin") or program) for program in programs}
    libraries |= linked_with(*map(Path, places.values()))
    above = {str(folder) for name in (*libraries, *modules) for folder in Path(name).parents}
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", dereference=True) as tar:
        for name in sorted({*FOLDERS, *above} - {"/"}):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for program, place in places.items():
            tar.add(place, f"usr/bin/{program}")
        for name in (*libraries, *modules):
            tar.add(name, name.lstrip("/"), filter=without_packages)
        link = tarfile.TarInfo("bin")
        link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
        tar.addfile(link)
    return data.getvalue()


def linked_with(*programs: Path) -> set[str]:
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {word for word in said.split() if word.startswith("/") and not word.endswith(":")}


def without_packages(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    left_out = {"test", "dist-packages", "site-packages", "__pycache__", "idlelib", "tkinter"}
    return None if left_out & {*Path(entry.name).parts} or not (entry.isreg() or entry.isdir()) else entry


@pytest.fixture(params=["podman", "docker"])
def program(request: pytest.FixtureRequest) -> ProgramName:
    name: ProgramName = request.param
    isolation = sandbox_named(name).isolation()
    if not (isolation.available and isolation.hosts and isolation.layers):
        pytest.skip(f"{name} has not all of it here: {isolation}")
    return name


@contextmanager
def imported(program: ProgramName, content: bytes) -> Iterator[str]:
    image = "localhost/remit-test-own:1"
    subprocess.run(import_argv(program, image), input=content, capture_output=True, check=True)
    try:
        yield image
    finally:
        subprocess.run([program, "rmi", "--force", image], capture_output=True, check=False)


def of(workspace: Path, script: str, **more: object) -> CommandSpec:
    given = {"cwd": workspace, "workspace": workspace, "environment": command_environment({}), "timeout_s": 60}
    return CommandSpec(("/bin/sh", "-c", script), **{**given, **more})  # type: ignore[arg-type]


async def wrote(sandbox: Sandbox, workspace: Path) -> dict[str, bytes | None]:
    output = await sandbox.run(of(workspace, "echo x > made; cat seen", writes=True))
    assert output.stdout == b"seen\n"
    return {each.path: each.data for each in output.left}


@pytest.mark.usefixtures("another_process")
async def test_BOX_14_without_a_python_hosts_are_refused_with_the_reason_and_a_layer_is_there(
    program: ProgramName, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "seen").write_text("seen\n")
    with imported(program, image_of(*PROGRAMS)) as image:
        monkeypatch.setenv("REMIT_SANDBOX_IMAGE", image)
        sandbox = sandbox_named(program)
        isolation = sandbox.isolation()
        assert (isolation.available, isolation.layers, isolation.hosts) == (True, True, False), isolation
        assert image in isolation.offline
        assert await wrote(sandbox, workspace) == {"made": b"x\n"}
        with pytest.raises(ToolError) as refused:
            await sandbox.run(of(workspace, "true", network=("example.org",)))
        assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE
        assert isolation.offline in refused.value.why


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="this system has no Python of its own")
@pytest.mark.usefixtures("another_process")
async def test_BOX_14_with_a_python_of_its_own_it_has_the_proxy(
    program: ProgramName, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "seen").write_text("seen\n")
    with imported(program, image_of(*PROGRAMS, "python3")) as image:
        monkeypatch.setenv("REMIT_SANDBOX_IMAGE", image)
        sandbox = sandbox_named(program)
        assert (sandbox.isolation().layers, sandbox.isolation().hosts) == (True, True), sandbox.isolation()
        assert await wrote(sandbox, workspace) == {"made": b"x\n"}
        output = await sandbox.run(of(workspace, "echo ran; exit 3", network=("example.org",)))
        assert (output.exit_code, output.stdout) == (3, b"ran\n")
