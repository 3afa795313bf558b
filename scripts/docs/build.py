"""Builds the documentation's site (DOC-01): `python scripts/docs/build.py [folder]`, which `make docs` calls.

The site is the repository's own text in the repository's own folders, so that one link works in an editor, on a forge
and on the site.
"""

from __future__ import annotations

import os
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
    "bench/README.md",
    "client-neovim/README.md",
    "client-vscode/README.md",
    "governance/remit_governance/policy/default.yaml",
    "server/remit_server/models/embedded/model/CARD.md",
)
"""What the site is made of, and nothing else: where one of these links to a page that is not here, MkDocs warns."""
SHIM = ROOT / "scripts" / "docs" / "node_modules" / "iframe-worker" / "shim" / "index.js"


def stage(into: Path) -> None:
    """Copies what is published into a folder of its own, for MkDocs takes whole folders only."""
    for name in PUBLISHED:
        source, target = ROOT / name, into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    target = into / "scripts" / "docs" / "iframe-worker.js"
    target.parent.mkdir(parents=True)
    shutil.copyfile(SHIM, target)


def build(staged: Path, site: Path) -> int:
    """The exit code of a strict build: each warning, such as a link or an anchor that leads nowhere, is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    # Otherwise Material for MkDocs says in each build when its support ends.
    environment = os.environ | {"DOCS_DIR": str(staged), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        sys.exit(build(Path(folder), Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".cache" / "site").resolve()))
