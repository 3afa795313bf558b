"""What a person denies in permissions.yaml, tried in other spellings against a running server (APP-06).

Policy allows everything here, so every refusal comes from the person's own lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from messages import SAYS
from running_server import RunningServer

pytestmark = pytest.mark.slow

ANYTHING = """\
version: 1
capabilities:
  - { name: all, match: { syscall: [fs.read, fs.list, fs.write, process.exec] }, action: allow }
"""
PERMISSIONS = """\
final_deny:
  - { command: [rm -rf, git push, npm publish] }
deny:
  - { command: [git reset --hard, chmod 777, cargo publish] }
  - { argv: [touch, -a, -c, "a b"], cwd: . }
  - { path: src/a.py }
  - { command: touch, cwd: docs }
allow:
  - { command: git status }
"""
FOR_GOOD = [
    *("rm -fr x", "rm -r -f x", "rm --recursive --force x", "rm zz -rf", "rm --rec --forc x", "/bin/rm -vfr -- x"),
    *("git -C . push", "git --no-pager push", "git --git-dir .git push", "git -c a.b=c --work-tree=. push origin"),
    *("npm --silent publish", "npm --prefix . -w x publish", "npm publis", "env A=b nice npm publish"),
    *("sh -c 'git --bare push'", "find . -exec rm -f -R x ';'", "true && (git -P push)", "eval 'rm -f -r x'"),
    *("nice -5 git push", "! while true; do git push; break; done", "sudo git -C . push", "/usr/lib/git-core/git-push"),
]
DENIED = [
    *("git --no-pager reset -q --har", "chmod -R a+rwx x", "chmod 0777 x", "cargo +nightly --color always publish"),
    *("touch -ca 'a b'", "touch 'a b' -c -a", "touch -a -c a\\ b; true", "cat x > ./src//a.py"),
]
ASKED = ["cargo ship", "my-wrapper rm -rf x", "my-wrapper --run='true; rm -fr x'", "npm pub[l]ish", "cd docs; touch x"]
FREE = ["git status", "git log push", "rm -f nothing", "npm --tag publish run x", "touch docs", "cargo --version"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("permissions")
    (folder / "config").mkdir()
    (folder / "config" / "permissions.yaml").write_text(PERMISSIONS)
    (folder / "shop").mkdir()
    with RunningServer(folder, ANYTHING) as running:
        yield running


@pytest.mark.parametrize("command", [*FOR_GOOD, *DENIED])
def test_THR_shell_what_a_person_denies_is_denied_in_every_spelling(command: str, server: RunningServer) -> None:
    called = server.call("run_command", "allow", command=command)
    assert called.code == "denied"
    assert called.questions == ()


@pytest.mark.parametrize("command", ASKED)
def test_THR_shell_what_may_be_denied_is_asked_about_and_says_so(command: str, server: RunningServer) -> None:
    called = server.call("run_command", "deny", command=command)
    assert called.code == "approval_denied"
    (question,) = called.questions
    assert SAYS.may_be_what_your_configuration in " ".join(reason["reason"] for reason in question["reasons"])


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("command", FREE)
def test_a_persons_deny_denies_no_other_command(command: str, server: RunningServer) -> None:
    called = server.call("run_command", command=command, timeout=10)
    assert called.questions == ()
    assert called.code != "denied"
