"""How policies are read from YAML: the meaning, the places, and the limits of size (POL-02)."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remit_governance.errors import PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.document import read_document
from remit_governance.values import Action

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.sampled_from(["a", "b c", "*x", "x: y", "no", "<<", "é🙂", ""])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b c", "é", "1"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_an_alias_stands_for_what_its_anchor_names() -> None:
    """Also as a key, inside another anchor, and in a list of mappings to merge; the marks are those of the anchor."""
    text = (
        "a: &one { x: &word hello, y: [1] }\n"
        "b: &two { z: *one, *word : 2 }\n"
        "c: { <<: [*one, { x: 3, w: 4 }], v: *two }\n"
        "d: &word [*word, *word]\n"
    )
    one = {"x": "hello", "y": [1]}
    with pytest.raises(PolicyError, match="the anchor `word` is given twice"):
        read_document("p", text)
    document = read_document("p", text.replace("d: &word", "d:"))
    two = {"z": one, "hello": 2}
    assert document.value == {"a": one, "b": two, "c": {**one, "w": 4, "v": two}, "d": ["hello", "hello"]}
    assert document.mark(("c", "v", "z", "y", 0)) == (1, 31)


@given(VALUES, st.sampled_from([True, False, None]))
def test_a_document_is_what_yaml_loads(value: object, flow: bool | None) -> None:
    """Compared with PyYAML's own loader, for text without the kinds of scalars that only PyYAML knows."""
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    assert read_document("p", text).value == yaml.safe_load(text)


@pytest.mark.slow
def test_ten_thousand_rules_can_be_loaded() -> None:
    """With every kind of glob that such a file has: folders, names, endings, and wildcards in a folder of each."""
    globs = ("packages/p{0}/src/**", "packages/p{0}/**/*.ts", "**/test_{0}_*.py", "**/*.e{0}", "docs/{0}/README.md")
    capabilities = [
        {"name": f"r{n}", "match": {"syscall": ["fs.write"], "path_glob": [globs[n % 5].format(n)]}, "action": "allow"}
        for n in range(10_000)
    ]
    text = yaml.dump({"version": 1, "capabilities": capabilities}, Dumper=yaml.CSafeDumper)
    policy = compile_policy([Source("p", text)])
    assert len(policy.layers[1].rules) == 10_000
    paths = ("packages/p5000/src/a", "packages/p5001/x/a.ts", "x/test_5002_.py", "a.e5003", "docs/5004/README.md")
    assert [evaluate(policy, Action("fs.write", path)).rules for path in paths] == [
        (f"r{n}",) for n in range(5000, 5005)
    ]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_a_large_file_that_only_opens_is_refused(opening: str) -> None:
    """The parser would build a tree that is too deep for the stack of the process."""
    with pytest.raises(PolicyError, match="nested too deeply|a key has to be a plain word"):
        read_document("p", opening * (900_000 // len(opening)))
