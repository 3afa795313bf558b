"""How deeply the arguments may be nested in a call of a local or a scripted model (MOD-13)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import call, intent
from rows import rows

from remit_server.models.dialects.read import UnreadableCall, read_calls
from remit_server.models.dialects.table import (
    DIALECTS,
    GLM,
    HERMES,
    LLAMA,
    MISTRAL,
    PYTHON,
    QWEN_XML,
    Dialect,
    PythonKeywords,
)
from remit_server.models.ports import UNREADABLE_CALL
from remit_server.models.unreadable import MOST_DEPTH

SCHEMAS = {"a": {"type": "object", "properties": {"x": {"type": "array"}}}}


def body(dialect: Dialect, value: str) -> str:
    """Returns a call of `a` with one argument, as it stands between the markers of a dialect."""
    head = dialect.before_name + "a" + dialect.after_name
    match dialect.encoding:
        case PythonKeywords():
            return f"{head}x={value}{dialect.after_arguments}"
        case _ if dialect is GLM or dialect.name == "glm-on-lines":
            return f"{head}<arg_key>x</arg_key><arg_value>{value}</arg_value>"
        case _ if dialect is QWEN_XML:
            return f"{head}<parameter=x>{value}</parameter>{dialect.after_arguments}"
        case _ if dialect.name == "gemma":
            return f"{head}{{x:{value}}}"
        case _:
            return f'{head}{{"x": {value}}}{dialect.after_arguments}'


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("levels", [MOST_DEPTH + 1, 240, 480, 900, 100_000])
def test_MOD_13_no_dialect_has_a_call_nested_deeper_than_the_bound(name: str, levels: int) -> None:
    try:
        (read,) = read_calls(DIALECTS[name], body(DIALECTS[name], "[" * levels + "]" * levels), SCHEMAS)
    except UnreadableCall:
        return
    assert isinstance(read.arguments["x"], str)  # too deep to be read, so it stays text, which the tool refuses


@pytest.mark.parametrize("name", DIALECTS)
def test_MOD_13_what_is_nested_within_the_bound_is_read(name: str) -> None:
    (read,) = read_calls(DIALECTS[name], body(DIALECTS[name], "[" * 40 + "]" * 40), SCHEMAS)
    assert isinstance(read.arguments["x"], list)


@rows(
    ("dialect", "value"),
    [(PYTHON, "{[1]: 2}"), (PYTHON, "{1: 2}"), (PYTHON, "-" * 100_000 + "1"), (PYTHON, "- " * 2_000 + "1")],
)
def test_MOD_04_python_that_is_no_value_is_refused(dialect: Dialect, value: str) -> None:
    with pytest.raises(UnreadableCall):
        read_calls(dialect, body(dialect, value), SCHEMAS)


@pytest.mark.parametrize("dialect", [HERMES, LLAMA, MISTRAL, QWEN_XML, GLM], ids=lambda each: each.name)
def test_MOD_04_half_of_a_surrogate_pair_is_in_no_call(dialect: Dialect) -> None:
    """Otherwise the model process could not encode the call's frame, and would end."""
    (read,) = read_calls(dialect, body(dialect, '["\\ud800"]'), SCHEMAS)
    assert read.arguments == {"x": ["\ufffd"]}


async def test_MOD_13_a_scripted_call_that_goes_too_deep_is_told(make_bench: Any) -> None:
    deep: Any = 1
    for _ in range(150):
        deep = {"x": deep}
    bench = await make_bench({"calls": [intent("READ_FILE"), call("read_file", path="a.py", x=deep)]}, {"text": "No."})
    assert (await bench.ask("read a.py")).status == "completed"
    assert [result.tool for result in bench.of("tool_result")] == [UNREADABLE_CALL]
