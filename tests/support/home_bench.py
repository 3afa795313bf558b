"""A person's home with toolchains and credentials in it, of which a sandbox must show the toolchains and hide the
credentials."""

from __future__ import annotations

import shutil
from pathlib import Path

SECRETS = (
    *(".npmrc", ".netrc", ".ssh/id_rsa", ".cargo/credentials.toml", ".cargo/config.toml", ".pypirc", ".pyenv/token"),
    *(".config/gh/hosts.yml", ".gradle/gradle.properties", ".rustup/other", "go/src/private.go", "notes.txt"),
    *(".pyenv/versions/3/pip.conf", ".pyenv/versions/3/envs/one/pip.conf", ".nvm/versions/node/v20/etc/npmrc"),
)
"""Files of the home, by their relative paths, each with the text `secret of <name>`; the last line's are in
toolchains."""

PROGRAMS = (".pyenv/versions/3/bin/tool", ".cargo/bin/rustup", ".nvm/versions/node/v20/bin/node-tool")


def home_with_toolchains(home: Path) -> str:
    """Make the home, with modes that let anyone read it. Returns the PATH that the person's shell would set."""
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"secret of {name}\n")
    for name in PROGRAMS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"#!/bin/sh\necho ran {name}\n")
        (home / name).chmod(0o755)
    (home / ".pyenv/shims").mkdir()
    (home / ".pyenv/version").write_text("3\n")
    (home / ".rustup/toolchains").mkdir()
    (home / ".rustup/settings.toml").write_text('version = "12"\n')
    for folder in (home, *(path for path in home.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    return ":".join(
        str(home / name) for name in (".local/bin", ".pyenv/shims", ".cargo/bin", ".nvm/versions/node/v20/bin")
    )


def files_below(folder: Path) -> dict[Path, bytes]:
    """Returns each regular file below the folder with its contents."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interpreter_in(folder: Path) -> Path:
    """Copies the system's Python as a version manager has it: a program that finds its library by its build's paths."""
    program = folder / "bin" / "python3"
    program.parent.mkdir(parents=True)
    shutil.copy(Path("/usr/bin/python3").resolve(), program)
    return program
