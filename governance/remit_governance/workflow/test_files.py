"""Which files are tests, which decide how tests run, and which stand in for others in a run (FLW-03).

The packaged rules name the same globs.
"""

from __future__ import annotations

from remit_governance.policy.matching.rule_globs import compile_globs

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
    "*_test.go",
    "*.test.*",
    "*.spec.*",
    "*.test-d.*",
    "*.tst.*",
)
RUNNER_GLOBS = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    ".coveragerc.toml",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    "jest.config.*",
    "jest.setup.*",
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
    "build.rs",
    "**/.cargo/**",
    "rust-toolchain*",
)
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
    "**/target/debug/**",
    "**/target/release/**",
)
"""Installed programs, and what was compiled: runs use these in place of what a review shows."""

is_test_file = compile_globs(TEST_GLOBS)
is_runner_file = compile_globs(RUNNER_GLOBS)
is_stand_in = compile_globs(STAND_IN_GLOBS)


def is_locked_file(path: str) -> bool:
    """Tells whether a file is one that tests, or their runs, depend on by its place and name."""
    return is_test_file(path) or is_runner_file(path)
