"""Small projects of every runner of tests, each with a test that fails as it should and others that are no proof."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remit_server.sandbox.visible.environment import command_environment

ROOT = Path(__file__).parent.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "remit-test-runners"
"""Where jest and vitest are looked for: `npm install --prefix ~/.cache/remit-test-runners jest vitest`."""

NEEDS = ("dependencies", "optionalDependencies", "peerDependencies")


@dataclass(frozen=True, slots=True)
class Project:
    """A source that is to be improved, its test, and the test's new version.

    `missing` tells why the project cannot run here (empty if it can); `install` puts a runner into the folder. `fakes`
    are tests that prove nothing, by what is wrong with them.
    """

    source: str
    old_source: str
    new_source: str
    test: str
    old_test: str
    new_test: str
    fakes: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    install: Callable[[Path], None] = lambda _folder: None
    missing: Callable[[], str] = lambda: ""

    def write_to(self, folder: Path) -> None:
        """Writes the project as it is before the work begins."""
        self.install(folder)
        for name, text in {**self.files, self.source: self.old_source, self.test: self.old_test}.items():
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text(text)


def install_pytest(folder: Path) -> None:
    """Makes a virtual environment of the system's Python, with the pytest that runs these tests."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(folder / ".venv")], check=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    ours = Path(pytest.__file__).parent.parent
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(ours / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ours / "py.py", site)
    program = folder / ".venv" / "bin" / "pytest"
    program.write_text(f"#!{folder}/.venv/bin/python3\nimport pytest\nraise SystemExit(pytest.main())\n")
    program.chmod(0o755)


def install_coverage(folder: Path) -> None:
    """Does the same, and adds coverage.py and pytest-cov."""
    install_pytest(folder)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    ours = Path(pytest.__file__).parent.parent
    for name in ("coverage", "pytest_cov", *(each.name for each in ours.glob("pytest_cov-*.dist-info"))):
        shutil.copytree(ours / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))


def _lacks(program: str) -> Callable[[], str]:
    path = command_environment(os.environ)["PATH"]
    return lambda: "" if shutil.which(program, path=path) else f"no {program} that a sandbox shows"


@functools.cache
def _modules_of(package: str) -> Path | None:
    """Returns a folder with the package and its dependencies, to be copied; None if the package is not installed."""
    places = (CACHE / "node_modules", ROOT / "client-vscode" / "node_modules")
    found = next((modules for modules in places if (modules / package).is_dir()), None)
    return None if found is None else _with_needs(package, found)


def _with_needs(package: str, modules: Path) -> Path:
    """Copies only the package and its dependencies, because all that is installed can be twenty times as much."""
    chosen = Path(tempfile.mkdtemp(prefix="remit-test-modules-"))
    atexit.register(shutil.rmtree, chosen, ignore_errors=True)
    wanted = [package]
    while wanted:
        name = wanted.pop()
        if not (modules / name).is_dir() or (chosen / name).exists():
            continue
        shutil.copytree(modules / name, chosen / name, symlinks=True)
        for file in (chosen / name / "package.json", *(chosen / name).glob("node_modules/**/package.json")):
            said = json.loads(file.read_text("utf-8"))
            wanted += [each for kind in NEEDS for each in said.get(kind, {})]
    (chosen / ".bin").mkdir()
    for link in (modules / ".bin").iterdir():
        if (chosen / ".bin" / link.readlink()).exists():
            (chosen / ".bin" / link.name).symlink_to(link.readlink())
    return chosen


def _lacks_package(package: str) -> Callable[[], str]:
    return lambda: _lacks("node")() or ("" if _modules_of(package) else f"no {package} in {CACHE}")


def _install_package(package: str) -> Callable[[Path], None]:
    def install(folder: Path) -> None:
        modules = _modules_of(package)
        assert modules is not None
        # Make links, because these are some hundred megabytes to which no test writes.
        shutil.copytree(modules, folder / "node_modules", symlinks=True, copy_function=link_or_copy)

    return install


def link_or_copy(source: str, target: str) -> None:
    """Makes a hard link, or a copy if the target is on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _python(source: str, test: str, old: str, new: str, fakes: Mapping[str, str], **more: object) -> Project:
    old_source = "def total(items):\n    return sum(items)\n"
    new_source = "def total(items):\n    return sum(items) if items else None\n"
    return Project(source, old_source, new_source, test, old, new, fakes, **more)  # type: ignore[arg-type]


_PYTEST_OLD = "import pytest\nfrom cart import total\n\n\ndef test_adds():\n    assert total([1, 2]) == 3\n"
_PYTEST_NEW = _PYTEST_OLD + "\n\ndef test_empty_is_none():\n    assert total([]) is None\n"
_UNITTEST_OLD = (
    "import unittest\nfrom cart import total\n\n\nclass Cart(unittest.TestCase):\n"
    "    def test_adds(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
_UNITTEST_NEW = _UNITTEST_OLD + "\n    def test_empty_is_none(self):\n        self.assertIsNone(total([]))\n"
_NODE_OLD = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { total } = require('./cart.js');\n"
    "test('adds', () => {\n  assert.strictEqual(total([1, 2]), 3);\n});\n"
)
_JS_OLD = "const { total } = require('./cart.js');\ntest('adds', () => {\n  expect(total([1, 2])).toBe(3);\n});\n"
_VITEST_OLD = "import { beforeEach, expect, test } from 'vitest';\n" + _JS_OLD.replace(
    "const { total } = require('./cart.js')", "import { total } from './cart.js'"
)
_JS_SOURCE = "exports.total = (items) => items.reduce((sum, item) => sum + item, 0);\n"
_JS_BETTER = "exports.total = (items) => (items.length ? items.reduce((sum, item) => sum + item, 0) : null);\n"
_GO_OLD = 'package shop\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tif Total([]int{1, 2}) != 3 {\n\t\tt.Fatal("not 3")\n\t}\n}\n'


def _js(old: str, equals: str, fakes: Mapping[str, str], *, module: bool = False, **more: object) -> Project:
    new = old + f"test('empty is null', () => {{\n  {equals};\n}});\n"
    broken = {
        "a syntax error": new + "test('x', () => {\n",
        "an import error": ("import 'nothing';\n" if module else "require('nothing');\n") + new,
        "an error in the test": old + "test('empty', () => {\n  throw new TypeError('no');\n});\n",
        "a test that passes": old + "test('empty', () => {});\n",
        "an error in a hook": new.replace(
            "test('adds'", "beforeEach(() => { throw new Error('hook'); });\ntest('adds'"
        ),
    }
    before, after = (text.replace("exports.", "export const ") if module else text for text in (_JS_SOURCE, _JS_BETTER))
    return Project("cart.js", before, after, "cart.test.js", old, new, {**broken, **fakes}, **more)  # type: ignore[arg-type]


def _go(body: str) -> str:
    return f"{_GO_OLD}\nfunc TestEmpty(t *testing.T) {{\n\t{body}\n}}\n"


_RUST_OLD = "#[test]\nfn adds() {\n    assert_eq!(shop::total(&[1, 2]), Some(3));\n}\n"


def _rust(body: str, mark: str = "") -> str:
    return f"{_RUST_OLD}\n#[test]\n{mark}fn empty_is_none() {{\n    {body}\n}}\n"


PROJECTS: Mapping[str, Project] = {
    "pytest": _python(
        "cart.py",
        "tests/test_cart.py",
        _PYTEST_OLD,
        _PYTEST_NEW,
        {
            "a syntax error": _PYTEST_NEW + "def (:\n",
            "an import error": "import nothing_of_this_name\n" + _PYTEST_NEW,
            "an assertion on collection": _PYTEST_NEW + "\nassert 0\n",
            "an error in the test": _PYTEST_OLD + "\ndef test_new():\n    raise ValueError\n",
            "a fixture that breaks": _PYTEST_OLD
            + "\n@pytest.fixture\ndef broken():\n    assert 0\n\ndef test_new(broken):\n    assert 0\n",
            "a skipped test": _PYTEST_OLD + "\n@pytest.mark.skip\ndef test_new():\n    assert 0\n",
            "a skip at run time": _PYTEST_OLD + "\ndef test_new():\n    pytest.skip('later')\n",
            "an expected failure": _PYTEST_OLD + "\n@pytest.mark.xfail\ndef test_new():\n    assert 0\n",
            "a test that passes": _PYTEST_OLD + "\ndef test_new():\n    pass\n",
        },
        files={"pytest.ini": "[pytest]\npythonpath = .\n"},
        install=install_pytest,
        missing=lambda: "" if shutil.which("python3", path="/usr/bin:/bin") else "there is no system Python",
    ),
    "unittest": _python(
        "cart.py",
        "test_cart.py",
        _UNITTEST_OLD,
        _UNITTEST_NEW,
        {
            "a syntax error": _UNITTEST_NEW + "def (:\n",
            "an import error": "import nothing_of_this_name\n" + _UNITTEST_NEW,
            "an error in the test": _UNITTEST_OLD + "\n    def test_new(self):\n        raise ValueError\n",
            "a fixture that breaks": _UNITTEST_NEW + "\n    def setUp(self):\n        raise ValueError\n",
            "a class's fixture that breaks": _UNITTEST_NEW
            + "\n    @classmethod\n    def setUpClass(cls):\n        assert 0\n",
            "a skipped test": _UNITTEST_OLD + "\n    @unittest.skip('x')\n    def test_new(self):\n        assert 0\n",
            "an expected failure": _UNITTEST_OLD
            + "\n    @unittest.expectedFailure\n    def test_new(self):\n        assert 0\n",
            "a test that passes": _UNITTEST_OLD + "\n    def test_new(self):\n        pass\n",
        },
        missing=lambda: "" if shutil.which("python3", path="/usr/bin:/bin") else "there is no system Python",
    ),
    "node": _js(
        _NODE_OLD,
        "assert.strictEqual(total([]), null)",
        {
            "a skipped test": _NODE_OLD + "test('empty', { skip: true }, () => { assert.ok(false); });\n",
            "an expected failure": _NODE_OLD + "test('empty', { todo: true }, () => { assert.ok(false); });\n",
            "an error in a hook": _NODE_OLD
            + "test.before(() => { throw new Error('hook'); });\ntest('empty', () => { assert.ok(false); });\n",
        },
        missing=_lacks("node"),
    ),
    "vitest": _js(
        _VITEST_OLD,
        "expect(total([])).toBe(null)",
        {
            "a skipped test": _VITEST_OLD + "test.skip('empty', () => { expect(1).toBe(2); });\n",
            "an expected failure": _VITEST_OLD + "test.fails('empty', () => { expect(1).toBe(2); });\n",
        },
        module=True,
        files={"package.json": '{"type": "module", "devDependencies": {"vitest": "*"}}'},
        install=_install_package("vitest"),
        missing=_lacks_package("vitest"),
    ),
    "jest": _js(
        _JS_OLD,
        "expect(total([])).toBe(null)",
        {
            "a skipped test": _JS_OLD + "test.skip('empty', () => { expect(1).toBe(2); });\n",
            "an expected failure": _JS_OLD + "test.failing('empty', () => { expect(1).toBe(2); });\n",
        },
        files={"package.json": '{"devDependencies": {"jest": "*"}}'},
        install=_install_package("jest"),
        missing=_lacks_package("jest"),
    ),
    "go": Project(
        "cart.go",
        "package shop\n\nfunc Total(items []int) int {\n\tsum := 0\n\tfor _, item := range items {\n\t\tsum += item\n\t}\n\treturn sum\n}\n",
        "package shop\n\nfunc Total(items []int) int {\n\tsum := 0\n\tfor _, item := range items {\n\t\tsum += item\n\t}\n"
        "\tif len(items) == 0 {\n\t\treturn -1\n\t}\n\treturn sum\n}\n",
        "cart_test.go",
        _GO_OLD,
        _go('if Total(nil) != -1 {\n\t\tt.Error("no")\n\t}'),
        {
            "a syntax error": _GO_OLD + "func (\n",
            "what is not declared": _go("nothing()"),
            "an error in the test": _go('panic("no")'),
            "a skipped test": _go('t.Skip("later")'),
            "a test that passes": _go("_ = t"),
        },
        files={"go.mod": "module shop\n\ngo 1.19\n"},
        missing=_lacks("go"),
    ),
    "cargo": Project(
        "src/lib.rs",
        "pub fn total(items: &[i32]) -> Option<i32> {\n    Some(items.iter().sum())\n}\n",
        "pub fn total(items: &[i32]) -> Option<i32> {\n    (!items.is_empty()).then(|| items.iter().sum())\n}\n",
        "tests/cart.rs",
        _RUST_OLD,
        _rust("assert_eq!(shop::total(&[]), None);"),
        {
            "a syntax error": _RUST_OLD + "fn (\n",
            "what is not declared": _rust("nothing();"),
            "an error in the test": _rust('panic!("no");'),
            "a skipped test": _rust("assert!(false);", "#[ignore]\n"),
            "an expected failure": _rust("assert!(false);", "#[should_panic]\n"),
            "a test that passes": _rust(""),
        },
        files={
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 3\n\n[[package]]\nname = "shop"\nversion = "0.1.0"\n',
        },
        missing=_lacks("cargo"),
    ),
}
