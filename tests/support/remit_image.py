"""Makes an image in which Remit is installed, of this machine's own files and without a registry.

It has the Python that runs the tests, a virtual environment with what Remit needs, `remit` on the PATH, and a few
programs for commands to run.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from packaging.requirements import Requirement

import remit_governance
import remit_server

VENV = "/opt/remit"
PROGRAMS = (
    *("sh", "bash", "env", "cat", "ls", "nice", "sleep", "mkdir", "touch", "id", "tail", "wc", "tr", "readlink", "cp"),
    *("grep", "bwrap", "unshare", "mount", "rg", "ldconfig"),
)
# Files that are looked up by name, so that `ldd` does not list them.
LOADED = (Path("/etc/ld.so.cache"), *Path("/usr").glob("lib*/**/libseccomp.so.2"))
ETC = {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n"}
_UNUSED = re.compile(r"/(__pycache__|test|tests|idlelib|ensurepip|lib2to3|site-packages|dist-packages|config-3[^/]*)/")


@contextmanager
def remit_image(program: str) -> Iterator[str]:
    """Makes the image with `podman` or `docker`, and removes it again; yields its name."""
    name = f"localhost/remit-tests:{secrets.token_hex(6)}"
    path = f"PATH={VENV}/bin:/usr/local/bin:/usr/bin:/bin"
    reading, writing = os.pipe()

    def write() -> None:
        # If the program cannot read the pipe, it ends early; the assertion below shows the reason.
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe, tarfile.open(fileobj=pipe, mode="w|") as tar:
            _fill(tar)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        argv = [program, "import", "--change", f"ENV {path}", "-", name]
        made = subprocess.run(argv, stdin=reading, check=False, capture_output=True, text=True)
    finally:
        os.close(reading)
        writer.join()
    assert made.returncode == 0, made.stderr
    try:
        yield name
    finally:
        subprocess.run([program, "rmi", "--force", name], check=False, capture_output=True)


def _fill(tar: tarfile.TarFile) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            tar.add(f"/{name}", name)
    content = dict(_content())
    made = {folder for place in content for folder in Path(place).parents}
    for folder in sorted(made | {Path("/", name) for name in ("proc", "sys", "dev", "run", "root", "home", "tmp")}):
        entry = tarfile.TarInfo(str(folder).lstrip("/") or ".")
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == Path("/tmp") else 0o755
        tar.addfile(entry)
    for place, file in content.items():
        if isinstance(file, Path):
            tar.add(file.resolve(), place.lstrip("/"))
            continue
        entry = tarfile.TarInfo(place.lstrip("/"))
        entry.mode, entry.size = 0o755, len(file.encode())
        tar.addfile(entry, io.BytesIO(file.encode()))
    python = tarfile.TarInfo(f"{VENV[1:]}/bin/python")
    python.type, python.linkname = tarfile.SYMTYPE, str(Path(sys.executable).resolve())
    tar.addfile(python)


def _content() -> Iterator[tuple[str, Path | str]]:
    """Yields each place in the image with its content: a file of this machine, or a text."""
    python = Path(sys.executable).resolve()
    files = {
        *_python(),
        *(Path(found) for name in PROGRAMS if (found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin"))),
    }
    installed = dict(_installed())
    files |= set(LOADED)
    for file in files | _libraries([*files, *installed.values()]):
        # Resolve the folder, because `lib` is a link in the image too, and no file may be put through a link.
        yield str(file.parent.resolve() / file.name), file
    for name, text in ETC.items():
        yield f"/etc/{name}", text
    yield f"{VENV}/pyvenv.cfg", f"home = {python.parent}\ninclude-system-site-packages = false\n"
    yield f"{VENV}/bin/remit", f"#!{VENV}/bin/python -P\nfrom remit_server.cli.main import enter\nenter()\n"
    for place, file in installed.items():
        yield f"{VENV}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/{place}", file


def _python() -> Iterator[Path]:
    """Yields the interpreter and its standard library."""
    yield Path(sys.executable).resolve()
    for file in Path(sysconfig.get_path("stdlib")).rglob("*"):
        if file.is_file() and not _UNUSED.search(f"{file}"):
            yield file


def _installed() -> Iterator[tuple[str, Path]]:
    """Yields the content of site-packages: the two packages as they are here, and their dependencies, without
    extras."""
    for package in (remit_server, remit_governance):
        assert package.__file__ is not None
        folder = Path(package.__file__).parent
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield str(file.relative_to(folder.parent)), file
    for distribution in _needed("remit", {}).values():
        for each in distribution.files or ():
            file = Path(str(distribution.locate_file(each)))
            if file.is_file() and not str(each).startswith("..") and file.suffix not in {".pyc", ".pth"}:
                yield str(each), file


def _needed(name: str, found: dict[str, importlib.metadata.Distribution]) -> dict[str, importlib.metadata.Distribution]:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key not in found:
        found[key] = importlib.metadata.distribution(name)
        for line in found[key].requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                _needed(needed.name, found)
    return found


def _libraries(files: list[Path]) -> set[Path]:
    """Returns the shared libraries that programs and extension modules are linked with, at the places where they are
    looked for."""
    linked = [str(file) for file in files if ".so" in file.name or os.access(file, os.X_OK)]
    told = subprocess.run(["ldd", *linked], capture_output=True, text=True, check=False).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\t)(/\S+) \(0x", told, re.MULTILINE)}
