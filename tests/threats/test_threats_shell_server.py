"""Every trick with a command line, tried against a running server that may run anything but `rm` (threats.md, Shell)."""

from __future__ import annotations

from typing import Any

import pytest
from running_server import RunningServer
from shell_cases import HARMLESS, TRICKS, name_of

pytestmark = pytest.mark.slow

NOT_RUN = {"denied", "approval_denied", "invalid_arguments"}


@pytest.mark.parametrize("trick", TRICKS, ids=name_of)
def test_THR_shell_a_trick_never_runs_unseen(trick: dict[str, Any], server: RunningServer) -> None:
    """What is certain to be denied is denied, and a person is asked about what is not certain."""
    called = server.call("run_command", command=trick["script"], timeout=5)
    runs = (*trick.get("runs", ()), *trick.get("denied", ()))
    if "rm" in runs or any(path.startswith(".git") for path in trick.get("writes", ())):
        assert called.code == "denied"
    elif trick.get("doubt"):
        assert called.code in NOT_RUN
        assert called.questions or called.code != "approval_denied"


DENIED = {
    "THR-shell-reordered-flags": ["git push --force", "git push origin main --force", "git -C . push --force origin"],
    "THR-shell-long-flags": ["git push --force=yes", "git push origin --force", "rm --recursive --force x"],
    "THR-shell-lone-dash-dash": ["rm -- x", "rm -rf -- x", "git push --force -- origin"],
    "THR-shell-absolute-path": ["/bin/rm x", "/usr/bin/../bin/rm x", "./rm x", "../../bin/rm x"],
    "THR-shell-values-of-options": [
        *("git -c a.b=c push --force", "git --git-dir .git push --force", "git -C push push --force"),
        *("git push -o x --force", "git push --repo=x --force origin", "nice -n 5 rm x", "env -u A rm x"),
    ],
    "THR-shell-global-options-of-git": ["git --no-pager push --force", "git -P -C . --bare push --force origin main"],
    "THR-shell-known-wrapper": ["nice rm x", "timeout 5 rm x", "env A=1 rm x", "echo x | xargs -n1 rm", "ionice rm x"],
}


@pytest.mark.parametrize("name", DENIED)
def test_THR_shell_a_denied_program_is_denied_however_it_is_called(name: str, server: RunningServer) -> None:
    for command in DENIED[name]:
        assert server.call("run_command", "allow", command=command).code == "denied", command


WRAPPED = ["{} rm -rf x", "{} 5 rm x", "{} -a --b=c rm x", "{} -c 'rm x'", "{} -- rm x", "{} x=1 /bin/rm x"]


@pytest.mark.parametrize(
    "wrapper", ["setarch", "chrt", "firejail", "proot", "./run", "my-wrapper", "catchsegv", "uv run"]
)
def test_THR_shell_an_unknown_wrapper_never_runs_a_denied_program_unseen(wrapper: str, server: RunningServer) -> None:
    """THR-shell-unknown-wrapper: nobody knows what it does with its words, and one of them is denied."""
    for shape in WRAPPED:
        called = server.call("run_command", command=shape.format(wrapper))
        assert called.code in NOT_RUN, shape.format(wrapper)


MANY = {
    "THR-shell-dozens-of-commands": "true; " * 70 + "rm x",
    "THR-shell-hundreds-of-pipes": "cat a.py" + " | cat" * 300 + " | rm x",
    "THR-shell-thousands-of-commands": "true;" * 1_500 + "rm x",
    "THR-shell-many-folders": "cd src; " * 40 + "rm x",
}
SLOW = {
    "THR-shell-nested-substitutions": "echo " + "$(" * 600 + "rm x" + ")" * 600,
    "THR-shell-nested-groups": "{ " * 900 + "rm x; " + "}" * 900,
    "THR-shell-open-quotes": "echo " + "'\"" * 3_901,
    "THR-shell-sed-backtracking": "sed '" + "s/a\\/" * 1_200 + "' a.py",
    "THR-shell-awk-backtracking": "awk '" + "print | " * 900 + "' a.py",
    "THR-shell-endless-word": "x" * 19_999,
    "THR-shell-here-documents": "cat <<E\n" * 800 + "rm x",
    "THR-shell-case-in-case": "case a in a) " * 500 + "rm x",
    "THR-shell-braces": "{a," * 2_000 + "}" * 2_000,
}


@pytest.mark.parametrize("name", [*MANY, *SLOW])
def test_THR_shell_what_exhausts_a_checker_is_not_run(name: str, server: RunningServer) -> None:
    """Dozens of commands, and input that makes a parser or an expression slow: answered, and never by running it.

    What takes longer than a test may take fails here.
    """
    assert server.call("run_command", command={**MANY, **SLOW}[name]).code in NOT_RUN


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_THR_shell_everyday_commands_run_without_a_question(server: RunningServer) -> None:
    """THR-shell-no-false-positives: the other error, for every line of the list; they really run, in the sandbox."""
    stopped = []
    for command in HARMLESS:
        called = server.call("run_command", command=command, timeout=3)
        if called.questions or called.result["decision"] != "allowed":
            stopped.append(command)
    assert stopped == []
