"""Which shell runs a command line, and which lines are refused because that shell would misread them (CMD-07)."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit_governance.policy.shell.bash_words import bash_words
from remit_server.errors import ToolError
from remit_server.tools.run.run_command import shell_argv

OWN_IMAGE = {"REMIT_SANDBOX_IMAGE": "mine"}

ONLY_BASH = {
    "mkdir -p src/{a,b}": "src/{a,b}",
    "echo {1..3}": "{1..3}",
    "set -o pipefail; ls | wc": "set pipefail",
    "source x": "source",
    "[[ -f a ]] && ls": "[[",
    "diff <(ls a) b": "<(ls a)",
    "cat <<< hi": "<<< hi",
    "a=(1 2)": "(1 2)",
    "echo $'x'": "$'x'",
    "ls &> out": "&>",
    "ls |& cat": "|&",
    "function f { ls; }": "function",
    "echo ${a//x/y}": "${a//x/y}",
    "declare -A a": "declare",
    "echo -e x": "echo -e",
}


@pytest.mark.parametrize("line", ONLY_BASH)
def test_CMD_07_where_no_bash_runs_it_a_bash_word_is_refused_by_its_name(line: str) -> None:
    assert bash_words(line) == (ONLY_BASH[line],)
    with pytest.raises(ToolError) as refused:
        shell_argv(line, {}, "/nowhere")
    assert f"`{ONLY_BASH[line]}`" in refused.value.why
    assert refused.value.code == "invalid_arguments"


@given(
    st.lists(st.sampled_from(["}", "'", '"', "\n", ";", "{", "<<<", "$(", "(", "a", " ", "|", "a=", "[["]), max_size=12)
)
@example(["}", "'", "'", "\n", ";"])
def test_CMD_07_no_line_is_too_broken_to_be_looked_at(pieces: list[str]) -> None:
    """A line may only be refused with a `ToolError`; any other exception would end the turn."""
    with suppress(ToolError):
        assert shell_argv("".join(pieces), {}, "/nowhere")[:2] == ("/bin/sh", "-c")


@pytest.mark.parametrize("has_bash", [True, False])
@pytest.mark.parametrize(
    "line", ['x=(a b); [[ ${x[1]} == b ]] && echo "$0 $# {1..3}" {1..3}', "set -o pipefail; echo 'a'"]
)
def test_CMD_07_in_an_image_of_the_persons_own_a_bash_word_runs_by_its_bash_or_not_at_all(
    tmp_path: Path, line: str, has_bash: bool
) -> None:
    if has_bash:
        (tmp_path / "bash").symlink_to(shutil.which("bash") or pytest.skip("there is no bash"))

    def run(*argv: str) -> tuple[int, str, str]:
        ended = subprocess.run(argv, check=False, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    code, out, err = run(*shell_argv(line, OWN_IMAGE))
    if has_bash:
        assert (code, out, err) == (0, "bash 0 {1..3} 1 2 3\n" if "$0" in line else "a\n", "")
    else:
        assert (code, out) == (127, "")
        assert all(f"`{word}`" in err for word in bash_words(line))


@pytest.mark.parametrize(
    "line",
    [
        *(
            "ls -la && cat a | sort > b 2>&1",
            "[ -f a ] || . ./x",
            'echo \'{a,b}\' "{1..3}" "[["',
            "find . -exec wc {} +",
        ),
        *("awk '{print $1,$2}' f", "grep -E '[[:space:]]' a", "cat <<EOF\nsource {a,b}\nEOF", "echo ${a:-b} ${b%.c}"),
    ],
)
def test_CMD_07_a_line_for_any_shell_runs_by_any(line: str) -> None:
    assert shell_argv(line, OWN_IMAGE) == ("/bin/sh", "-c", line) == shell_argv(line, {}, "/nowhere")
