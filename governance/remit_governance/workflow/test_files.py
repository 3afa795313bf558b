"""Which files are tests, which decide how tests run, and which stand in for others in a run (FLW-03).

The packaged rules name the same globs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remit_governance.policy.matching.paths import compile_globs

TEST_GLOBS = (
    "tests/**",
    "test/**",
    "**/tests/**",
    "**/test/**",
    "**/__tests__/**",
    "**/__snapshots__/**",
    "**/__fixtures__/**",
    "**/__mocks__/**",
    "**/testdata/**",
    "test_*.py",
    "*_test.py",
    "tests.py",
    "test.py",
    "*_test.go",
    "*.test.*",
    "*.spec.*",
    "*.test-d.*",
    "*.tst.*",
)
RUNNER_CONFIG_GLOBS = (
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    ".coveragerc.toml",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    "jest.config.*",
    "babel.config.*",
    ".babelrc",
    ".babelrc.*",
    ".swcrc",
    "package.json",
    "tsconfig*.json",
    "jsconfig.json",
    "go.mod",
    "go.work",
    "Cargo.toml",
    "**/.cargo/**",
    "rust-toolchain*",
)
"""What configures runs of tests: changed under an exemption, before tests are written."""
RUNNER_PROGRAM_GLOBS = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "vitest.setup.*",
    "jest.setup.*",
    "build.rs",
)
"""Programs that run with every test, which may do anything there: left to the person."""
STAND_IN_GLOBS = (
    "**/site-packages/**",
    "**/dist-packages/**",
    ".venv",
    "venv",
    "node_modules",
    ".yarn",
    ".pnp.*",
    "__pycache__",
    "*.pyc",
    "*.egg-info",
    "*.dist-info",
    "**/target/debug/**",
    "**/target/release/**",
)
"""Installed programs, what says that something is installed, and what was compiled: runs use these in place of what a
review shows, or load what they name."""

is_stand_in = compile_globs(STAND_IN_GLOBS)


def locked_files(tests: Sequence[tuple[str, ...]] = (TEST_GLOBS,)) -> Callable[[str], bool]:
    """Returns what tells whether a file is one that tests, or their runs, depend on; `tests` are the globs of tests."""
    matchers = tuple(map(compile_globs, (RUNNER_CONFIG_GLOBS, RUNNER_PROGRAM_GLOBS, *tests)))
    return lambda path: any(matches(path) for matches in matchers)


is_locked_file = locked_files()
"""Tells so by everybody's globs."""
