"""The packaged knowledge of programs, as rows of YAML (CMD-08)."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import get_args

import pytest
import yaml
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.policy.shell.catalogue.files import RowText, packaged, packaged_names, read_row, row_texts
from remit_governance.policy.shell.catalogue.rows import DoubtName, JudgeName, WrittenName
from remit_governance.policy.shell.effects.judging import JUDGES
from remit_governance.policy.shell.options import row_of
from remit_governance.policy.shell.programs import DOUBTS, WRITTEN

LOADER: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def test_CMD_08_every_row_can_be_read_and_no_program_has_two() -> None:
    for row in row_texts():
        read_row(row)
    assert [
        name for name, count in Counter(name for row in row_texts() for name in row.names).items() if count > 1
    ] == []
    assert len(packaged_names()) > 1_000


def test_CMD_08_a_row_is_found_by_itself_where_the_whole_file_has_it() -> None:
    """A row is found by its first line; a YAML parser that reads the whole file must find the same rows."""
    folder = files("remit_governance.policy") / "programs"
    found = {name: row.text for row in row_texts() for name in row.names}
    for path in folder.iterdir():
        for row in yaml.load(path.read_text(encoding="utf-8"), LOADER):
            for name in row["programs"]:
                assert yaml.load(found.pop(name), LOADER) == [row], name
    assert found == {}


def test_CMD_08_names_of_functions_and_other_names_lead_somewhere() -> None:
    assert set(JUDGES) == set(get_args(JudgeName))
    assert set(DOUBTS) == set(get_args(DoubtName))
    assert set(WRITTEN) == set(get_args(WrittenName))
    for name in packaged_names():
        program = packaged(name)
        assert program is not None
        assert not program.other_name_of or row_of(program.other_name_of), name
        for command in program.commands:
            assert not command.other_name_of or row_of((name, *command.other_name_of)), (name, command)


@rows(
    ("text", "what", "fix"),
    [
        ("reeds: [list]", "reeds", ""),
        ("judge: nobody", "judge", "activate"),
        ("reads: [a|-b]", "reads", "two entries"),
        ("reads: [$ a]", "reads", "last"),
        ("reads: [a|]", "reads", "both sides"),
        ("options: -a|--all -a", "options", "keep one"),
        ("options: all", "options", "-o"),
        ("writes: [out]", "writes", "dashes"),
        ("otherwise: sometimes", "otherwise", ""),
        ("commands: { x: { marks: [odd] } }", "commands.x.marks", ""),
        ("reads: [", "YAML", ""),
    ],
)
def test_CMD_08_a_row_that_is_wrong_says_where_what_and_how_to_mend_it(text: str, what: str, fix: str) -> None:
    row = RowText("files.yaml", 7, ("mytool",), f"- programs: [mytool]\n  {text}\n")
    with pytest.raises(PolicyError) as raised:
        read_row(row)
    (problem,) = raised.value.problems
    assert (problem.file, problem.line) == ("files.yaml", 7)
    assert "`mytool`" in problem.message
    assert what in f"{problem.message} {problem.fix}"
    assert fix in f"{problem.message} {problem.fix}"
