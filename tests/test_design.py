"""Every clause that source and tests cite is in docs/design, and every clause there is cited."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from rows import rows

ROOT = Path(__file__).parents[1]
DESIGN = ROOT / "docs" / "design"
CLAUSE = re.compile(r"^- \*\*([A-Z]+-\d\d)\*\* .+[.:]$", re.MULTILINE)
CLAUSES = Counter(number for page in DESIGN.glob("*.md") for number in CLAUSE.findall(page.read_text("utf-8")))
CITED = re.compile(rf"\b(?:{'|'.join(sorted({number.partition('-')[0] for number in CLAUSES}))})-\d\d\b")
ELSEWHERE = re.compile(r"\b(?:0\d\d §|(?:agent|governance|protocol|editor|facts|architecture|style)\.md §)|\(threats: ")
"""Pages that are not in the repository."""
FOLDERS = (
    *("governance", "server", "tests", "bench", "docs"),
    *("client-neovim", "client-emacs", "client-vscode/src"),
)


@cache
def texts() -> dict[str, str]:
    """Returns the text of each file that may cite clauses, by its path."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    own = (
        path
        for path in paths
        if path.suffix in {".py", ".ts", ".mjs", ".lua", ".el", ".md", ".yaml"} and path != Path(__file__)
    )
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in own if "node_modules" not in path.parts}


def test_no_clause_has_the_number_of_another() -> None:
    assert len(CLAUSES) > 100
    assert [number for number, count in CLAUSES.items() if count > 1] == []


def test_the_table_of_pages_has_their_clauses() -> None:
    rows = re.findall(
        r"^\| \[[^\]]+\]\(([^)]+)\) \| ([^|]+) \|", (DESIGN / "README.md").read_text("utf-8"), re.MULTILINE
    )
    pages = {
        page.name: CLAUSE.findall(page.read_text("utf-8")) for page in DESIGN.glob("*.md") if page.name != "README.md"
    }
    assert dict(rows) == {
        name: numbers[0] if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"
        for name, numbers in pages.items()
    }


def test_every_citation_is_of_a_clause() -> None:
    cited = {(name, number) for name, text in texts().items() for number in CITED.findall(text)}
    assert sorted((name, number) for name, number in cited if number not in CLAUSES) == []


def test_every_clause_is_cited_by_source_or_tests() -> None:
    cited = {number for name, text in texts().items() if not name.startswith("docs") for number in CITED.findall(text)}
    assert sorted(CLAUSES.keys() - cited) == []


def test_no_page_is_cited_that_is_not_here() -> None:
    assert sorted(name for name, text in texts().items() if ELSEWHERE.search(text)) == []


@rows("page", sorted(DESIGN.glob("*.md")), ids=lambda page: page.name)
def test_the_index_names_every_page(page: Path) -> None:
    assert page.name == "README.md" or f"({page.name})" in (DESIGN / "README.md").read_text("utf-8")


TRANSPORTS = ROOT / "server" / "remit_server" / "transports"


@pytest.mark.parametrize("name", sorted(path.parent.name for path in TRANSPORTS.glob("*/__init__.py")))
def test_LSP_01_only_the_language_server_speaks_lsp(name: str) -> None:
    """This covers only the transports; import contracts cover everything below them, and imports between transports."""
    imports = re.compile(r"^ *(?:from|import) (?:pygls|lsprotocol)\b", re.MULTILINE)
    speaks = {path.name for path in (TRANSPORTS / name).rglob("*.py") if imports.search(path.read_text("utf-8"))}
    assert bool(speaks) == (name == "lsp")
