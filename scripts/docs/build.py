"""Builds the site of the documentation (DOC-01): `python scripts/docs/build.py [folder]`, which `make docs` calls.

The site has the repository's texts in the repository's folders, so that one link works in an editor, on a forge and on
the site.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PUBLISHED = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs",
    "schemas",
    "scripts/docs/site.css",
    "bench/README.md",
    "bench/growth.svg",
    "client-neovim/README.md",
    "client-emacs/README.md",
    "client-vscode/README.md",
    "governance/remit_governance/policy/default.yaml",
)
"""Everything that the site is made of: if one of these links to a page that is not in the list, MkDocs warns."""
LIST = re.compile(r"- |\d+\. ")
TEXT = re.compile(r"[^\s#|]")
SHIM = ROOT / "scripts" / "docs" / "node_modules" / "iframe-worker" / "shim" / "index.js"


def stage(into: Path) -> None:
    """Copies the published files into a folder of their own, because MkDocs takes only whole folders."""
    for name in PUBLISHED:
        source, target = ROOT / name, into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    for page in into.rglob("*.md"):
        page.write_text(part_lists(page.read_text("utf-8")), "utf-8")
    target = into / "scripts" / "docs" / "iframe-worker.js"
    shutil.copyfile(SHIM, target)


def part_lists(text: str) -> str:
    """Inserts an empty line before a list that directly follows a line of text: MkDocs needs one, a forge does not."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        if not fenced and LIST.match(line) and lines and TEXT.match(lines[-1]) and not LIST.match(lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def build(staged: Path, site: Path) -> str:
    """Returns the messages about what is wrong, or an empty text. Each warning, such as a dead link or anchor, is an
    error."""
    # Not `--quiet`, because MkDocs does not count warnings that it does not print.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    # Otherwise Material for MkDocs prints the end of its support in each build.
    environment = os.environ | {"DOCS_DIR": str(staged), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode else ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        sys.exit(
            build(Path(folder), Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".cache" / "site").resolve()) or 0
        )
