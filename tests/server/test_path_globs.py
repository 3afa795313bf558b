"""FILE-05: a glob matches what its regular expression matches, whichever way is used."""

from __future__ import annotations

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_governance.policy.matching.paths import glob_expression, match_any
from remit_server.errors import ToolError
from remit_server.workspace.trees import path_globs
from remit_server.workspace.trees.path_globs import parse_glob

PIECES = st.sampled_from(
    [
        "*",
        "**",
        "*.py",
        "**.py",
        "?.py",
        "[ab]",
        "a",
        "b.py",
        ".",
        ".env",
        "a b",
        "x ",
        "\\",
        "\\*",
        "é",
        "*é",
        "#a",
        "!a",
    ]
)
GLOBS = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "/", "./", "**/"]),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
PATHS = st.lists(
    st.sampled_from(["a", "b.py", "ab.py", ".env", "a b", "x ", "é", "aé", "#a", "!a", "*", "\\", "n\nb.py", ".", "A"]),
    min_size=1,
    max_size=4,
).map("/".join)


@settings(max_examples=examples(1000), deadline=None)
@given(text=GLOBS, path=PATHS)
def test_FILE_05_a_glob_matches_what_its_expression_does(text: str, path: str) -> None:
    try:
        glob = parse_glob(text)
    except ToolError:
        return
    expression = glob_expression(path_globs._plain(text), below=False)
    plainly = match_any([] if expression is None else [expression])
    assert glob.matches(path) is (plainly is not None and plainly(path))
