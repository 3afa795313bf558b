"""Files `.git` that point to where they should not: into the repository of somebody else."""

from __future__ import annotations

import os
from pathlib import Path

from commits import git


def to_the_repository_itself(shop: Path, victim: Path) -> None:
    (shop / ".git").write_text(f"gitdir: {victim}/.git\n")


def to_another_worktree(shop: Path, victim: Path) -> None:
    git(victim, "worktree", "add", "-q", str(victim.parent / "other"))
    (shop / ".git").write_text(f"gitdir: {victim}/.git/worktrees/other\n")


def to_a_pipe(shop: Path, victim: Path) -> None:
    own = own_folder(shop, victim.parent)
    for name in ("gitdir", "commondir"):
        (own / name).unlink(missing_ok=True)
        os.mkfifo(own / name)


def own_folder(shop: Path, above: Path) -> Path:
    """Points to a folder of a worktree below `above`, which points back; its `commondir` is for the caller to make."""
    own = above / "evil" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "gitdir").write_text(f"{shop}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / ".git").write_text(f"gitdir: {own}\n")
    return own
