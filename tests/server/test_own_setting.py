"""CFG-04: saving a setting changes only that setting in the person's file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.errors import SetupError
from remit_server.runtime.connecting import keep_setting, with_setting

MODEL = ("model", "name")
TEXTS = [
    ("", 'model:\n  name: "m"\n'),
    ("# mine\n", '# mine\nmodel:\n  name: "m"\n'),
    ("model:\n  name: a # why\n", 'model:\n  name: "m" # why\n'),
    ("sessions:\n  count: 3 # few\n", 'model:\n  name: "m"\nsessions:\n  count: 3 # few\n'),
    ("model: {temperature: 0.5}\n", 'model: {"name": "m", temperature: 0.5}\n'),
    ('{"sessions": {"count": 3}}', '{"model": {"name": "m"}, "sessions": {"count": 3}}'),
    ("model:\n    temperature: 0.5\n", 'model:\n    name: "m"\n    temperature: 0.5\n'),
]


@rows("before, after", TEXTS)
def test_CFG_04_a_setting_is_placed_where_it_belongs(before: str, after: str) -> None:
    assert with_setting("f", before, MODEL, "m") == after


VALUES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85\ufeff"), min_size=1
)
SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.fixed_dictionaries(
            {}, optional={"name": VALUES, "temperature": st.sampled_from([0.0, 0.5])}
        ).filter(bool),
        "sessions": st.just({"count": 3}),
        "review": st.just({"when": "turn"}),
    },
)


@given(SECTIONS, VALUES, st.booleans())
def test_CFG_04_any_file_says_the_same_but_for_the_setting(file: dict[str, Any], value: str, flow: bool) -> None:
    text = yaml.safe_dump(file, default_flow_style=flow, allow_unicode=True) if file else ""
    after = yaml.safe_load(with_setting("f", text, MODEL, value))
    file.setdefault("model", {})["name"] = value
    assert after == file


def test_CFG_04_a_file_that_is_wrong_or_cannot_be_written_stays_as_it_is(tmp_path: Path) -> None:
    file, env = tmp_path / "config.yaml", {"REMIT_CONFIG_DIR": str(tmp_path)}
    for text in ("model: [", "nonsense: 1\n", "\xff"):
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(SetupError):
            keep_setting(MODEL, "m", env)
        assert file.read_bytes() == text.encode("latin-1")


def test_CFG_04_the_file_is_made_for_its_owner_and_keeps_its_mode(tmp_path: Path) -> None:
    env = {"REMIT_CONFIG_DIR": str(tmp_path / "new")}
    file = keep_setting(MODEL, "m", env)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    keep_setting(MODEL, "n", env)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
