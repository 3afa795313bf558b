"""Commands of a running server that try, in every way a shell has, to show what may not be read, or to make a
repository inside the repository (SEC-02)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_server import POLICY, RunningServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sandbox")]

SECRET = "the-quiet-word"
VAULT = '  - { name: vault, match: { syscall: fs.read, path_glob: ["vault/**", "**/*.key"] }, action: deny }\n'


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with denied files of several kinds: in a folder, behind links, and one that git ignores."""
    folder = tmp_path_factory.mktemp("holding")
    shop = folder / "shop"
    for name in ("vault/deep/word", ".env", "sub/a.key", "seen.txt"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("shown\n" if name == "seen.txt" else f"{SECRET}\n")
    (shop / "to-folder").symlink_to("vault")
    (shop / "to-file").symlink_to("to-folder/deep/word")
    (shop / ".gitignore").write_text(".env\n*.key\n")
    with RunningServer(folder, POLICY + VAULT) as running:
        yield running


LOOKS = {
    "by other programs": "head .env; tail vault/deep/word; nl sub/a.key; od -c .env; strings to-file; diff .env seen.txt",
    "by a copy": "cp -rL . /tmp/c; cat /tmp/c/.env /tmp/c/vault/deep/word /tmp/c/sub/a.key /tmp/c/to-file",
    "by a new name": "mv vault v2; cat v2/deep/word; mv .env plain.txt; cat plain.txt; mv sub s2; cat s2/a.key",
    "by a hard link": "ln .env here.txt; cat here.txt; cp -l sub/a.key k.txt; cat k.txt",
    "by a link": "ln -s vault/deep l; cat l/word; ln -s .env e; cat e; cat to-file to-folder/deep/word",
    "by an archive": "tar c --dereference . | tar xO; zip -qr - . | cat; cpio -o < /dev/null; find . -type f | xargs cat",
    "by a mapping": "python3 -c \"import mmap; f = open('.env', 'rb'); print(mmap.mmap(f.fileno(), 0, prot=1).read())\"",
    "by a descriptor": "exec 3<.env; cat <&3; cat /proc/self/fd/3; cd vault; cat deep/word; cat < deep/word",
    "by another view": "cat /proc/self/cwd/.env /proc/1/cwd/.env /proc/self/root$PWD/.env /proc/1/root$PWD/vault/deep/word",
    "by git": "git diff --no-index seen.txt .env; git diff --no-index /dev/null vault/deep/word; git hash-object .env",
    "by a search": "grep -r quiet .; grep -rL nothing . | xargs cat; awk 1 .env vault/deep/word; sed -n p sub/a.key",
    "by a shell that reads it": ". ./.env; bash .env; while read x; do echo $x; done < vault/deep/word; echo $(<.env)",
    "in the background": "(sleep 0.2; cat .env) & wait; setsid cat vault/deep/word; nohup cat sub/a.key",
    "by a mount": "unshare -rm sh -c 'mount --bind vault /mnt; cat /mnt/deep/word'; mount --bind . /tmp; cat /tmp/.env",
}


@pytest.mark.parametrize("way", LOOKS)
def test_THR_shell_no_command_of_a_running_server_shows_what_reading_denies(way: str, holding: RunningServer) -> None:
    """THR-shell-denied-reads-through-a-server: as a command, and in a script that nobody could judge and that really
    ran."""
    (holding.workspace / "look.sh").write_text(f"cat seen.txt\n{LOOKS[way]}\n")
    for command in (LOOKS[way], "sh look.sh", "bash look.sh"):
        called = holding.call("run_command", "allow", command=command, timeout=20)
        assert SECRET not in str(called.result)
        assert SECRET not in str(called.questions)
        assert called.code in {None, "denied"}
        if "look.sh" in command:
            assert "shown" in called.output
    assert (holding.workspace / ".env").read_text() == f"{SECRET}\n"


NESTED = {
    "init": "git init nested; git init --bare bare; git -C sub init; git init --separate-git-dir=x y",
    "clone": "git clone . copy; git clone --bare . copy.git; git worktree add ../tree; git submodule add ./ module",
    "by hand": "mkdir -p n/.git/hooks; echo evil > n/.git/hooks/post-checkout; echo 'gitdir: ../.git' > m/.git",
    "by an archive": "tar xf repository.tar; cd sub && tar xf ../repository.tar; python3 -m tarfile -e repository.tar out",
    "by a copy": "cp -r .git sub/.git; cp -r .git/. sub2; mv .git was; rsync -a .git/ r/.git/",
    "by a new name": "mkdir -p g/hooks; mv g n/.git; ln -s ../.git sub/.git; mv sub .git",
    "by a program": "python3 -c \"import os; os.makedirs('p/.git/hooks'); open('p/.git/config', 'w').write('[core]')\"",
}


@pytest.fixture
def within(tmp_path: Path) -> Iterator[RunningServer]:
    """A server in a repository; an archive in it contains another repository."""
    shop = tmp_path / "shop"
    (shop / "sub").mkdir(parents=True)
    (shop / "sub" / "a.py").write_text("total = 0\n")
    made = tmp_path / "elsewhere"
    for folder in (shop, made):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["tar", "cf", str(shop / "repository.tar"), "-C", str(made), "."], check=True)
    with RunningServer(tmp_path) as running:
        yield running


def _repositories(shop: Path) -> dict[Path, bytes | None]:
    """Returns every file of a repository, and every folder that git would take for one."""
    named = {path for path in shop.rglob("*") if ".git" in path.parts}
    bare = {path.parent for path in shop.rglob("HEAD") if (path.parent / "objects").is_dir()}
    return {path: path.read_bytes() if path.is_file() else None for path in named | bare}


@pytest.mark.parametrize("way", NESTED)
def test_THR_config_no_command_of_a_running_server_makes_a_repository(way: str, within: RunningServer) -> None:
    """THR-config-nested-repository-by-commands: every question is answered yes, as a command and in a script."""
    before = _repositories(within.workspace)
    (within.workspace / "make.sh").write_text(f"{NESTED[way]}\necho ended\n")
    for command in (*NESTED[way].split("; "), "sh make.sh"):
        called = within.call("run_command", "allow", command=command, timeout=20)
    assert called.result["exit_code"] is not None  # the script ran to its end
    assert called.code == "denied" or "ended" in called.output
    after = _repositories(within.workspace)
    assert after == before
