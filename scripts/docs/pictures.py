# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow>=11,<14"]
# ///
"""Makes the documentation's pictures from the screenshots of the end-to-end tests (DOC-03): `make pictures`.

A test takes one with `picture` (`tests/e2e/vscode/story.mjs`), in dark, in light, at 200 % and in a narrow window. This
program reduces its colours and puts it into `docs/images`; pictures there that were not taken again are removed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / ".cache" / "shots"
IMAGES = ROOT / "docs" / "images"
COLOURS = 256


def main() -> int:
    """Replaces all pictures; returns 1 if the tests have left none."""
    taken = sorted(SHOTS.glob("picture-*.png"))
    if not taken:
        print(f"there is no picture in {SHOTS}: the end-to-end tests in VS Code take them")
        return 1
    IMAGES.mkdir(exist_ok=True)
    for old in IMAGES.glob("*.png"):
        old.unlink()
    for shot in taken:
        target = IMAGES / shot.name.removeprefix("picture-")
        Image.open(shot).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
