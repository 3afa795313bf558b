"""Paths and archives that attack a running server whose policy allows everything in its workspace (FILE-01)."""

from __future__ import annotations

import io
import itertools
import json
import os
import tarfile
import threading
from pathlib import Path
from typing import Any, Self

import pytest
from running_server import RunningServer
from step_by_step import Order, Writers

pytestmark = pytest.mark.slow

SECRET = "outside-secret-1234"
REST: dict[str, dict[str, Any]] = {
    "read_file": {},
    "list_files": {"pattern": "*"},
    "search_files": {"pattern": "secret"},
    "write_file": {"content": "pwned"},
    "edit_file": {"old_text": "outside", "new_text": "pwned"},
}


@pytest.fixture
def outside(server: RunningServer, workspace: Path) -> Path:
    """Makes a folder beside the workspace whose name begins like the workspace's, and links of all kinds out of the
    workspace."""
    there = server.folder / "shop2"
    if not there.exists():
        there.mkdir()
        (there / "secret.txt").write_text(SECRET)
        (workspace / "out").symlink_to(there)
        (workspace / "file").symlink_to(there / "secret.txt")
        (workspace / "magic").symlink_to("/proc/self/root")
        (workspace / "loop").symlink_to("loop")
        (workspace / "memory").symlink_to("/dev/shm")
        (workspace / ".env").write_text(f"KEY={SECRET}\n")
        (workspace / "env-link").symlink_to(".env")
        os.mkfifo(workspace / "pipe")
    return there


WAYS_OUT = {
    "THR-paths-symlink-out": ["out/secret.txt", "file", "out/../shop2/secret.txt"],
    "THR-paths-prefix": ["{shop}2/secret.txt", "../shop2/secret.txt", "{shop}2"],
    "THR-paths-dotdot": ["../shop2/secret.txt", "a/./../../shop2/secret.txt", "..", "../../etc/passwd"],
    "THR-paths-double-slash": ["//{shop}/../shop2/secret.txt", ".//..//shop2//secret.txt", "//etc//passwd"],
    "THR-paths-absolute": ["/etc/passwd", "{outside}/secret.txt", "~/.ssh/id_rsa"],
    "THR-paths-proc-self-root": [
        "/proc/self/root{outside}/secret.txt",
        "magic{outside}/secret.txt",
        "magic/etc/passwd",
    ],
    "THR-paths-proc": ["/proc/self/environ", "/proc/self/cwd/../shop2/secret.txt", "/proc/self/fd/0", "/proc/1/root"],
    "THR-paths-device": ["/dev/zero", "/dev/stdin", "/dev/tty", "memory/x", "/dev/shm/x", "/dev/fd/0"],
}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_THR_paths_no_way_leads_out_of_a_running_server(name: str, server: RunningServer, outside: Path) -> None:
    for spelling in WAYS_OUT[name]:
        path = spelling.format(shop=server.workspace, outside=outside)
        for tool, rest in REST.items():
            called = server.call(tool, "allow", path=path, **rest)
            assert called.code is not None, (tool, path)
            assert SECRET not in called.output
    assert [(p.name, p.read_text()) for p in outside.iterdir()] == [("secret.txt", SECRET)]
    assert not Path("/dev/shm/x").exists()


DENIED = {
    "THR-paths-symlink-deny": ["env-link"],
    "THR-paths-dots": ["./.env", "x/../.env", ".env/../.env", "x/./y/../../.env", "{shop}/.env"],
    "THR-paths-slashes": [".//.env", "{shop}//.env", "///{shop}/.env"],
}


@pytest.mark.parametrize("name", DENIED)
def test_THR_paths_a_denied_file_is_denied_by_each_of_its_names(
    name: str, server: RunningServer, outside: Path
) -> None:
    for spelling in DENIED[name]:
        path = spelling.format(shop=server.workspace)
        for tool in ("read_file", "search_files", "edit_file"):
            called = server.call(tool, "allow", path=path, **REST[tool])
            assert called.code is not None, (tool, path)
            assert SECRET not in called.output
    everywhere = server.call("search_files", pattern="KEY")
    assert SECRET not in everywhere.output
    assert outside.exists()


PROTECTED = {
    "THR-paths-case": [".GIT/config", ".Git/hooks/pre-commit", ".VSCode/settings.json", ".REMIT/policy.yaml"],
    "THR-paths-unicode-forms": ["\uff0egit/config", ".remi\u200bt/policy.yaml", ".gi\u00adt/x"],
    "THR-paths-trailing-dots": [".git./config", ".git../config", ".git /config", ".vscode. ./tasks.json", ".bashrc."],
    "THR-paths-trailing-dots-within": ["x/.git./hooks/pre-commit", ".remit./policy.yaml", "x.code-workspace. "],
}


@pytest.mark.parametrize("name", PROTECTED)
def test_THR_paths_what_some_file_system_takes_for_a_protected_file_is_not_written(
    name: str, server: RunningServer
) -> None:
    """The workspace may lie on a network share or another system's disk, where `.git.` and `.GIT` mean `.git`."""
    for path in PROTECTED[name]:
        called = server.call("write_file", "allow", path=path, content="evil")
        assert called.code in {"denied", "invalid_arguments"}, path
        assert not called.questions


@pytest.mark.parametrize("tool", ["read_file", "write_file", "search_files"])
def test_THR_paths_a_pipe_never_holds_a_running_server_up(tool: str, server: RunningServer, outside: Path) -> None:
    """THR-paths-fifo."""
    assert server.call(tool, "allow", path="pipe", **REST[tool]).code == "not_a_file"
    assert outside.exists()


WRONG_CHECKS = {
    "THR-paths-error-too-long": ["x" * 300, "x" * 300 + "/../.git/config", ".git/" + "x" * 300, "dd/" * 2_000 + "f"],
    "THR-paths-error-loop": ["loop", "loop/x", "loop/../.git/config", "loop/.git/config"],
    "THR-paths-error-through-a-file": ["plain/x", "plain/../.git/config", "plain/.git/hooks/x"],
    "THR-paths-error-no-text": ["a\0b", ".git\0/config", "\ud800", ".git/\udc80", ""],
}


@pytest.mark.parametrize("name", WRONG_CHECKS)
def test_THR_paths_a_check_that_fails_protects(name: str, server: RunningServer, outside: Path) -> None:
    """A path that cannot be resolved cannot be judged, so it is refused: an error never counts as allowed."""
    (server.workspace / "plain").write_text("plain\n")
    before = _names(server.workspace)
    for path in WRONG_CHECKS[name]:
        assert server.call("write_file", "allow", path=path, content="evil").code is not None, path
        assert server.call("read_file", "allow", path=path).code is not None, path
    assert _names(server.workspace) == before
    assert outside.exists()


def test_THR_paths_a_write_through_a_hard_link_reaches_no_protected_file(server: RunningServer) -> None:
    """THR-paths-hard-link: the protected file keeps its bytes, in the workspace and outside."""
    hook, own = server.workspace / ".git" / "hooks" / "pre-push", server.folder / "own.txt"
    hook.parent.mkdir(parents=True, exist_ok=True)
    for number, protected in enumerate((hook, own)):
        protected.write_text("mine\n")
        os.link(protected, server.workspace / f"linked{number}")
        assert server.call("write_file", "allow", path=f"linked{number}", content="evil\n").code is None
        assert server.call("edit_file", "allow", path=f"linked{number}", old_text="evil", new_text="worse").code is None
        assert protected.read_text() == "mine\n"


def test_THR_paths_the_working_folder_is_none_outside(server: RunningServer, outside: Path) -> None:
    """THR-paths-working-folder: a working folder outside is refused, however the model spells it."""
    for folder in ("..", "/", "/etc", "out", "../shop2", "/proc/self/cwd", "magic", "loop", "pipe", str(outside)):
        called = server.call("run_command", "allow", command="pwd", working_dir=folder)
        assert called.code is not None, folder
        assert called.result["exit_code"] is None


def _archive(place: Path) -> None:
    def file(name: str, content: bytes) -> None:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))

    with tarfile.open(place, "w") as archive:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, ".."
        archive.addfile(link)
        for name in ("../unpacked.txt", str(place.parent.parent / "unpacked.txt"), "way/unpacked.txt", "a/evil.txt"):
            file(name, b"evil")
        file(".git/hooks/post-checkout", b"evil")


@pytest.mark.usefixtures("sandbox")
def test_THR_paths_an_archive_unpacks_nowhere_outside(server: RunningServer) -> None:
    """THR-paths-archive: the command needs approval; if a person allows it, it writes nothing outside and nothing
    protected."""
    _archive(server.workspace / "evil.tar")
    before = _names(server.folder)
    for command in (
        "tar xf evil.tar",
        "tar xPf evil.tar",
        "tar --absolute-names -x -f evil.tar -C ..",
        "python3 -c \"import tarfile; tarfile.open('evil.tar').extractall('.')\"; ls",
    ):
        assert server.call("run_command", "deny", command=command).code != "denied"
        called = server.call("run_command", "allow", command=command)
        assert called.code is None, command
        new = [server.folder / name for name in set(_names(server.folder)) - set(before)]
        assert all(path.is_relative_to(server.workspace) and not path.is_symlink() for path in new), command
        assert not any(path.name == "post-checkout" for path in new), command
        for path in sorted(new, reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        assert _names(server.folder) == before, command


def test_THR_paths_temporary_names_cannot_be_foreseen(tmp_path: Path) -> None:
    """THR-paths-temporary-files: who knows all names so far cannot put a link at the next one."""
    victim = tmp_path / "victim.txt"
    victim.write_text("mine\n")
    root = tmp_path / "ws"
    root.mkdir()
    with Writers(root) as writers:
        step = 0
        while writers.write(Order("f.txt", "new\n", step=step, fault="kill")).ended == "killed":
            step += 1
        seen = [path for path in root.iterdir() if path.name != "f.txt"]
        assert len(seen) > 3
        assert len({path.name for path in seen}) == len(seen)
        for path in seen:
            path.unlink()
            path.symlink_to(victim)
        for number in range(5):
            assert writers.write(Order("f.txt", f"{number}\n")).ended == "done"
    assert victim.read_text() == "mine\n"


def _names(folder: Path) -> list[str]:
    kept = (path for path in folder.rglob("*") if not {"state", "data"} & set(path.relative_to(folder).parts))
    return sorted(str(path.relative_to(folder)) for path in kept)


class Swapping(threading.Thread):
    """Points a name at two targets in turn, without end, each time in one atomic step; use it as a context manager."""

    def __init__(self, name: Path, targets: tuple[str, str]) -> None:
        super().__init__(daemon=True)
        self._name, self._targets, self._over = name, targets, threading.Event()

    def run(self) -> None:
        spare = self._name.with_name(f"{self._name.name}-spare")
        for target in itertools.cycle(self._targets):
            if self._over.is_set():
                return
            spare.symlink_to(target)
            spare.replace(self._name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self.join()


RACED = {
    "a denied file": ("good.py", ".env", "{}"),
    "a file outside": ("good.py", "../kept/secret.txt", "{}"),
    "a hook": ("good.py", ".git/hooks/pre-commit", "{}"),
    "a folder outside": ("inside", "../kept", "{}/secret.txt"),
}


@pytest.mark.parametrize("what", RACED)
def test_THR_paths_a_link_that_turns_round_all_the_time_leads_a_running_server_nowhere(
    what: str, tmp_path: Path
) -> None:
    """THR-paths-symlink-race: whenever the link changes during a call, only what policy judged is read and written."""
    good, bad, shape = RACED[what]
    kept = [tmp_path / name for name in ("kept/secret.txt", "shop/.env", "shop/.git/hooks/pre-commit")]
    for path in (*kept, tmp_path / "shop/good.py", tmp_path / "shop/inside/secret.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SECRET} outside\n" if path in kept else "outside = 1\n")
    path, met = shape.format("link"), set[str | None]()
    with RunningServer(tmp_path) as running, Swapping(running.workspace / "link", (good, bad)):
        for number in range(25):
            for tool, rest in (
                ("read_file", {}),
                ("search_files", {"pattern": "outside"}),
                ("write_file", {"content": f"outside = {number}\n"}),
                ("edit_file", {"old_text": "outside", "new_text": "outside "}),
            ):
                called = running.call(tool, "deny", path=path, **rest)
                assert what == "a hook" or SECRET not in json.dumps(called.result), (tool, number)
                met.add(called.code)
    assert [each.read_text() for each in kept] == [f"{SECRET} outside\n"] * 3
    assert None in met, "some calls met the good one"
    assert len(met) > 1, "and some the other"
