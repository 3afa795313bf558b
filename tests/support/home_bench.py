"""A person's home with toolchains and credentials in it, for a sandbox to show the one and not the other."""

from __future__ import annotations

import shutil
from pathlib import Path

SECRETS = (
    *(".npmrc", ".netrc", ".ssh/id_rsa", ".cargo/credentials.toml", ".cargo/config.toml", ".pypirc", ".pyenv/token"),
    *(".config/gh/hosts.yml", ".gradle/gradle.properties", ".rustup/other", "go/src/private.go", "notes.txt"),
    *(".pyenv/versions/3/pip.conf", ".pyenv/versions/3/envs/one/pip.conf", ".nvm/versions/node/v20/etc/npmrc"),
)
"""Files of it, relative to it, each with the text `secret of <name>`; the last line's lie in toolchains."""

PROGRAMS = (".pyenv/versions/3/bin/tool", ".cargo/bin/rustup", ".nvm/versions/node/v20/bin/node-tool")


def home_with_toolchains(home: Path) -> str:
    """Make it, readable by anyone as far as modes go; a PATH as the person's shell would set it."""
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
    """Each regular file and what is in it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interpreter_in(folder: Path) -> Path:
    """The system's Python as a version manager has it: a program of its own, which finds its library by its build."""
    program = folder / "bin" / "python3"
    program.parent.mkdir(parents=True)
    shutil.copy(Path("/usr/bin/python3").resolve(), program)
    return program
