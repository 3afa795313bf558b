"""Code that leaves a locked test unchanged but replaces what the test uses for its check: an assertion, a helper, a
builtin, a constant of the runner, the loader of its files, or the test itself while an earlier one runs (FLW-04)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from bench_runtime import Bench
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

SOURCE = "def total(items):\n    return sum(items)\n"
RIGHT = "def total(items):\n    return sum(items) if items else None\n"
CHECK = "def check(got, wanted):\n    assert got == wanted, got\n"
BASE = "import unittest\n\n\nclass Base(unittest.TestCase):\n    def assertNothing(self, got):\n        self.assertIsNone(got)\n"


def plain(body: str, before: str = "import cart\n") -> str:
    """Returns a test for pytest."""
    return f"{before}\n\ndef test_zero():\n    got = cart.total([])\n    {body}\n"


def case(body: str, before: str = "import cart\nimport unittest\n", base: str = "unittest.TestCase") -> str:
    """Returns a test for unittest."""
    return f"{before}\n\nclass Zero({base}):\n    def test_zero(self):\n        got = cart.total([])\n        {body}\n"


def called(lines: str, before: str = "import sys\n") -> str:
    """Returns source that works as before, but also runs `lines` when it is called with no items."""
    return f"{before}\n\ndef total(items):\n    if not items:\n        {lines}\n    return sum(items)\n"


def node(check: str, before: str = "const assert = require('node:assert');") -> str:
    """Returns a test for Node that loads what it checks with after it loads the source."""
    start = "const test = require('node:test');\nconst { total } = require('./cart.js');\n"
    return f"{start}{before}\ntest('empty is null', () => {{ {check}; }});\n"


OLD = PROJECTS["node"].old_source
EQUAL = "assert.strictEqual(total([]), null)"
FAKE = "new Proxy(() => {}, { get: () => () => {} })"
HELPER = {"tests/check.js": "exports.check = (got, wanted) => require('node:assert').strictEqual(got, wanted);\n"}
HELPED = "const { check } = require('./tests/check.js');"


@dataclass(frozen=True)
class Lie:
    """Files that are there (`there`), a failing test, source that makes it pass, more files (`beside`), and why the run
    is not believed."""

    runner: str
    test: str
    source: str
    why: str
    there: dict[str, str] = field(default_factory=dict[str, str])
    beside: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def path(self) -> str:
        """The path of the test."""
        return {"pytest": "tests/test_zero.py", "unittest": "test_zero.py", "node": "zero.test.js"}[self.runner]


BY_CODE = SAYS.is_not_from_a_file
OF_HELPER = SAYS.is_not_what_its_file_of
CHANGED = SAYS.was_replaced_while_tests_ran

LIES = {
    "a case's own assertion": Lie(
        "unittest",
        case("self.assertIsNone(got)"),
        called("sys._getframe(1).f_locals['self'].assertIsNone = lambda *a: None"),
        BY_CODE,
    ),
    "a builtin as a case's own assertion": Lie(
        "unittest", case("self.assertIsNone(got)"), called("sys._getframe(1).f_locals['self'].assertIsNone = id"), BY_CODE
    ),
    "an assertion of the case's class": Lie(
        "unittest",
        case("self.assertIsNone(got)"),
        called("type(sys._getframe(1).f_locals['self']).assertIsNone = lambda *a: None"),
        BY_CODE,
    ),
    "an assertion of a case that pytest runs": Lie(
        "pytest",
        case("self.assertIsNone(got)"),
        called("sys._getframe(1).f_locals['self'].assertIsNone = lambda *a: None"),
        BY_CODE,
    ),
    "an assertion of a locked base": Lie(
        "unittest",
        case("self.assertNothing(got)", "import cart\nfrom tests.base import Base\n", "Base"),
        called("sys.modules['tests.base'].Base.assertNothing = lambda *a: None"),
        OF_HELPER,
        there={"tests/__init__.py": "", "tests/base.py": BASE},
    ),
    "another class where cases are defined": Lie(
        "unittest",
        case("self.assertIsNone(got)"),
        "import unittest\n\n\nclass Quiet(unittest.TestCase):\n    def assertIsNone(self, *_):\n        pass\n\n\n"
        f"unittest.TestCase = Quiet\n{SOURCE}",
        CHANGED,
    ),
    "the case's own test by a function that loads tests": Lie(
        "unittest",
        case("self.assertIsNone(got)", "import cart\nimport unittest\n\nfrom cart import *\n"),
        f"{SOURCE}\n\ndef load_tests(loader, tests, pattern):\n    for group in tests:\n        for case in group:\n"
        "            setattr(case, case._testMethodName, lambda: None)\n    return tests\n",
        SAYS.is_not_what_its_file,
    ),
    "an assertion of a mock": Lie(
        "unittest",
        case(
            "cart.ask.assert_called_once_with(got)",
            "import cart\nimport unittest\nfrom unittest import mock\n\ncart.ask = mock.Mock()\n",
        ),
        f"from unittest import mock\nmock.NonCallableMock.assert_called_once_with = lambda *_: None\n{SOURCE}",
        CHANGED,
    ),
    "a builtin that unittest rounds with": Lie(
        "unittest",
        case("self.assertAlmostEqual(got, 7)"),
        f"import builtins\nbuiltins.round = lambda *_: 0\n{SOURCE}",
        CHANGED,
    ),
    "a builtin that pytest measures with": Lie(
        "pytest",
        plain("assert got == pytest.approx(7)", "import cart\nimport pytest\n"),
        f"import builtins\nbuiltins.abs = lambda *_: 0\n{SOURCE}",
        CHANGED,
    ),
    "a builtin exception": Lie(
        "pytest",
        "import cart\n\n\ndef test_zero():\n    said = 0\n    try:\n        cart.total([])\n"
        "    except ValueError:\n        said = 1\n    assert said\n",
        called("builtins.ValueError = Exception; raise TypeError", "import builtins\n"),
        CHANGED,
    ),
    "a constant of the runner's": Lie(
        "pytest",
        plain("assert got == pytest.approx(7)", "import cart\nimport pytest\n"),
        called("sys.modules[pytest.approx.__module__].ApproxScalar.DEFAULT_ABSOLUTE_TOLERANCE = 9", "import pytest, sys\n"),
        CHANGED,
    ),
    "a comparison of the runner's": Lie(
        "pytest",
        plain("assert got == pytest.approx(7)", "import cart\nimport pytest\n"),
        called("sys.modules[pytest.approx.__module__].ApproxScalar.__eq__ = lambda *_: True", "import pytest, sys\n"),
        CHANGED,
    ),
    "a function that pytest offers": Lie(
        "pytest",
        plain("got is None or pytest.fail('no')", "import cart\nimport pytest\n"),
        f"import pytest\npytest.fail = lambda *_: None\n{SOURCE}",
        CHANGED,
    ),
    "a function of the test's file": Lie(
        "pytest",
        plain("check(got, None)", f"import cart\n\n\n{CHECK}"),
        called("sys._getframe(1).f_globals['check'] = lambda *_: None"),
        OF_HELPER,
    ),
    "the code of a function of the test's file": Lie(
        "pytest",
        plain("check(got, None)", f"import cart\n\n\n{CHECK}"),
        called("sys._getframe(1).f_globals['check'].__code__ = (lambda got, wanted: None).__code__"),
        OF_HELPER,
    ),
    "a locked helper's function": Lie(
        "pytest",
        plain("checking.check(got, None)", "import cart\nimport checking\n"),
        called("sys.modules['checking'].check = lambda *_: None"),
        OF_HELPER,
        there={"tests/checking.py": CHECK},
    ),
    "a module in the place of a locked helper": Lie(
        "pytest",
        plain("checking.check(got, None)", "import cart\nimport checking\n"),
        "import sys, types\nsys.modules['checking'] = types.ModuleType('checking')\n"
        f"sys.modules['checking'].check = lambda *_: None\n{SOURCE}",
        OF_HELPER,
        there={"tests/checking.py": CHECK},
    ),
    "a package of the name of a locked helper": Lie(
        "pytest",
        plain("checking.check(got, None)", "import cart\nimport checking\n"),
        f"import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nimport checking\n{SOURCE}",
        OF_HELPER,
        there={"tests/checking.py": CHECK},
        beside={"checking/__init__.py": "def check(*_):\n    pass\n"},
    ),
    "the test while an earlier one runs, which puts itself back": Lie(
        "pytest",
        plain("assert got is None"),
        "import sys\n\n\ndef total(items):\n    module = sys.modules.get('test_zero')\n    if items and module:\n"
        "        test, true = module.test_zero, module.test_zero.__code__\n"
        "        module.back = lambda: setattr(test, '__code__', true)\n"
        "        test.__code__ = (lambda: back()).__code__\n    return sum(items)\n",
        CHANGED,
    ),
    "the loader of modules": Lie(
        "node",
        node(EQUAL),
        f"const Module = require('module');\nconst load = Module._load;\nModule._load = (name, ...rest) =>\n"
        f"  name === 'node:assert' ? {FAKE} : load(name, ...rest);\n{OLD}",
        BY_CODE,
    ),
    "what modules load with": Lie(
        "node",
        node(EQUAL),
        "const { prototype } = require('module');\nconst real = prototype.require;\nprototype.require = function (name) {\n"
        f"  return name === 'node:assert' ? {FAKE} : real.call(this, name);\n}};\n{OLD}",
        BY_CODE,
    ),
    "how files are read": Lie(
        "node",
        node("assert.strictEqual(total([]), wanted)", "const assert = require('node:assert');\nconst wanted = require('./tests/wanted.js');"),
        "const real = require.extensions['.js'];\nrequire.extensions['.js'] = (module, name) =>\n"
        f"  name.endsWith('wanted.js') ? (module.exports = 0) : real(module, name);\n{OLD}",
        BY_CODE,
        there={"tests/wanted.js": "module.exports = null;\n"},
    ),
    "a module that was loaded": Lie(
        "node",
        node("check(total([]), null)", HELPED),
        "const id = require.resolve('./tests/check.js');\n"
        f"require.cache[id] = {{ id, filename: id, loaded: true, exports: {{ check() {{}} }} }};\n{OLD}",
        OF_HELPER,
        there=HELPER,
    ),
    "a loader for modules that are imported": Lie(
        "node",
        "import test from 'node:test';\nimport cart from './cart.js';\nconst { default: assert } = await import('node:assert');\n"
        "test('empty is null', () => { assert.strictEqual(cart.total([]), null); });\n",
        f"require('node:module').register('./hooks.mjs', require('node:url').pathToFileURL(__filename));\n{OLD}",
        BY_CODE,
        beside={
            "hooks.mjs": "export const resolve = (name, context, next) => name !== 'node:assert' ? next(name, context)\n"
            f"  : {{ url: 'data:text/javascript,export default {FAKE}', shortCircuit: true }};\n"
        },
    ),
}  # fmt: skip


async def work(make_bench: Any, task: Lie) -> Bench:
    """Runs a session that writes a failing test, then the source, and runs all tests."""
    project = PROJECTS[task.runner]
    ini = {"pytest.ini": "[pytest]\npythonpath = .\n"} if task.runner == "pytest" else {}
    project = replace(project, files={**project.files, ".gitignore": "__pycache__/\n", **ini, **task.there})
    path = task.path.replace(".js", ".mjs") if task.test.startswith("import test") else task.path
    steps = [write(path, task.test), RUN, write(project.source, task.source)]
    steps += [write(name, text) for name, text in task.beside.items()]
    bench = await begin(make_bench, project, read(project.source), PLAN, *steps, RUN, DONE)
    await bench.ask("Say what the total of nothing is")
    return bench


@pytest.mark.parametrize("lie", LIES)
async def test_THR_workflow_no_code_replaces_what_a_locked_test_checks_with(make_bench: Any, lie: str) -> None:
    bench = await work(make_bench, LIES[lie])
    said = bench.of("tool_result")[-1].output
    states = [event.state for event in bench.of("state_changed")]
    assert states[-3:] == ["code_writing", "validating", "code_writing"], said
    assert SAYS.this_proves_nothing_yet in said
    assert LIES[lie].why in said, said


async def test_THR_workflow_no_code_says_what_the_text_of_a_test_means(make_bench: Any) -> None:
    """A codec that is made by code could decode the same bytes to another test after the test has failed."""
    register = "import codecs\n\ncodecs.register(lambda name: codecs.lookup('utf-8') if name == 'cartcode' else None)\n"
    test = f"# coding: cartcode\n{plain('assert got is None')}"
    bench = await work(make_bench, Lie("pytest", test, RIGHT, "", there={"tests/conftest.py": register}))
    assert state(bench) == "test_writing"
    assert SAYS.is_not_what_its_file in bench.of("tool_result")[-1].output


HONEST = """
import builtins
import contextlib
import functools
import json
import unittest
from unittest import mock

import checking
import pytest

unittest.TestCase.maxDiff = None


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(builtins, "sorted", lambda items: list(items))
    monkeypatch.setattr(checking, "check", lambda got, wanted: None)
    monkeypatch.setattr(json, "dumps", str)


@pytest.fixture(scope="module", autouse=True)
def printed():
    with mock.patch("builtins.print") as printed:
        yield printed


@functools.lru_cache
def cached(number):
    return number


@contextlib.contextmanager
def opened():
    yield 1


@pytest.mark.parametrize("make", [cached, lambda number: number])
def test_made(make):
    with opened() as one:
        assert make(one) == 1


@mock.patch(__name__ + ".cached", return_value=3)
def test_patched(other):
    assert cached(1) == 3


@mock.patch.object(cart, "total", new=lambda items: 5)
def test_source():
    assert cart.total([]) == 5


class TestShared:
    calls = 0

    @pytest.fixture(autouse=True)
    def prepare(self):
        self.check = lambda got: got

    def check(self, got):
        raise NotImplementedError

    def test_check(self):
        type(self).calls += 1
        assert self.check(self.calls)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.helper = staticmethod(lambda: 1)
        patched = mock.patch("builtins.input")
        patched.start()
        cls.addClassCleanup(patched.stop)

    def setUp(self):
        self.one = 1

    def assertEqual(self, first, second, msg=None):
        super().assertEqual(first, second, msg)

    def test_parts(self):
        for part in (1, 2):
            with self.subTest(part=part):
                self.assertEqual(part, part)

    async def quick(self):
        return 1


class AsyncCase(unittest.IsolatedAsyncioTestCase, Case):
    async def test_quick(self):
        self.assertEqual(await self.quick(), self.helper())
"""


async def test_FLW_04_what_tests_themselves_patch_makes_no_run_doubted(make_bench: Any) -> None:
    there = {"tests/checking.py": CHECK}
    bench = await work(make_bench, Lie("pytest", plain("assert got is None") + HONEST, RIGHT, "", there=there))
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output


LOADS = """
const Module = require('node:module');
const { mock } = require('node:test');
const load = Module._load;
Module._load = (name, ...rest) => (name === 'nothing' ? { one: 1 } : load(name, ...rest));
require.cache[require.resolve('./tests/check.js')] = { exports: { check() {} } };
mock.method(require('node:fs'), 'readFileSync', () => '1');
test('stands in', () => {
  assert.strictEqual(require('nothing').one, 1);
  assert.strictEqual(require('./tests/check.js').check(), undefined);
});
"""


async def test_FLW_04_what_tests_of_node_load_in_their_own_way_makes_no_run_doubted(make_bench: Any) -> None:
    right = PROJECTS["node"].new_source
    bench = await work(make_bench, Lie("node", node(EQUAL) + LOADS, right, "", there=HELPER))
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output


async def test_FLW_04_a_case_may_name_its_tests_as_unittest_names_its_own_attributes(make_bench: Any) -> None:
    names = case("self.assertIsNone(got)") + "\n    def test_case(self):\n        self.assertIn(1, (1, 2))\n"
    bench = await work(make_bench, Lie("unittest", names, RIGHT, ""))
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output
