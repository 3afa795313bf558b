"""The documentation's site is built strictly and completely, loads nothing from elsewhere (DOC-01), and has pictures
that tests made (DOC-03)."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # the whole site is built

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "scripts" / "docs" / "build.py"
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^\"' >]*")
"""What a browser loads for a page; a link that a person may click does not count."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `make docs` into a folder of its own; a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, str(BUILD), str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_DOC_01_every_page_is_there_and_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    pages = [path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    wanted = {str(page).replace("README.html", "index.html") for page in pages}
    assert {name for name in wanted if not (site / name).is_file()} == set()


def test_DOC_01_a_list_right_below_a_line_is_a_list_as_on_a_forge(site: Path) -> None:
    assert re.search(r"… an LSP feature</strong></p>\s*<ol>", (site / "docs" / "recipes.html").read_text("utf-8"))


def test_DOC_01_nothing_is_loaded_from_another_place(site: Path) -> None:
    read = {path: path.read_text("utf-8") for path in site.rglob("*") if path.suffix in {".html", ".css"}}
    assert len(read) > 40
    assert {found for text in read.values() for found in LOADED.findall(text)} == set()
    assert {
        found for text in read.values() for found in re.findall(r"(?:url\(|@import )[\"']?https?:[^\"')]*", text)
    } == set()


def test_DOC_01_a_dead_link_anchor_or_picture_is_an_error(tmp_path: Path) -> None:
    """They lie in the sources of the site, and the page is not in the navigation."""
    program = runpy.run_path(str(BUILD))
    program["stage"](tmp_path / "docs")
    dead = ["[there](no-such-page.md)", "[there](#no-such-heading)", "![there](no-such.png)", "[there](../schemas)"]
    (tmp_path / "docs" / "docs" / "page.md").write_text("\n\n".join(["# Page", "[good](#page)", *dead]))
    said = program["build"](tmp_path / "docs", tmp_path / "site")
    assert said.count("WARNING") == len(dead) + 1
    assert "Aborted with 5 warnings in strict mode" in said


SHOWN = ("dark", "light", "200", "narrow")
"""Each picture is taken in both colours, at 200 % and in a narrow window."""
PICTURES = {path.stem: path.stat().st_size for path in (ROOT / "docs" / "images").glob("*.png")}


def test_DOC_03_every_picture_is_small_and_there_in_each_window() -> None:
    assert max(PICTURES.values()) < 150_000
    assert sum(PICTURES.values()) < 1_200_000
    names = {name.rpartition("-")[0] for name in PICTURES}
    assert {f"{name}-{scheme}" for name in names for scheme in SHOWN} == set(PICTURES)


def test_DOC_03_every_picture_is_taken_by_a_test_and_shown_on_a_page() -> None:
    drivers = [path.read_text("utf-8") for path in (ROOT / "tests" / "e2e" / "vscode").glob("*.mjs")]
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    taken = set(re.findall(r" picture\((?:chat, )?'(\w+)'[,)]", "".join(drivers)))
    shown = set(re.findall(r"images/([\w-]+)\.png", "".join(pages)))
    assert {f"{name}-{scheme}" for name in taken for scheme in SHOWN} == set(PICTURES) == shown
