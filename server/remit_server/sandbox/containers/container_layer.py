"""The overlays that a command in a container may write to, read in the same way as Bubblewrap's (BOX-05; BG-02).

If the server is an ordinary user, the program that runs containers mounts them, because the command is the same user.
If the server is root, the command is another user, and the server mounts the overlays itself, with the two users
exchanged (`mount_layer.py`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from remit_server.sandbox.bubblewrap.bubblewrap import program_of_ours
from remit_server.sandbox.bubblewrap.bubblewrap_options import USER_ID
from remit_server.sandbox.bubblewrap.layer import Layer, LayerChange
from remit_server.sandbox.containers.container_argv import ProgramName
from remit_server.sandbox.limits.limits import Limits, free_space, layer_excess
from remit_server.sandbox.outcome import last_line
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.server_identity import prefix_of
from remit_server.uninterrupted import lent

AREAS = ("/dev/shm",)  # noqa: S108  a private folder is made in it
TRIAL = "echo x > made && rm gone && rm -r old && mkdir old && echo x > old/new && echo y > kept && echo end"
TRIAL_CHANGES = {"made": b"x\n", "gone": None, "old/file": None, "old/new": b"x\n", "kept": b"y\n"}
"""What `TRIAL` changes in a folder made by `make_trial`: one change for each way in which an overlay notes them."""
_MOUNT_S = 20.0


def make_trial(folder: Path) -> None:
    """Fills a folder with the files that `TRIAL` changes."""
    (folder / "old").mkdir(mode=0o755)
    for name in ("gone", "kept", "old/file"):
        (folder / name).write_text("before\n")
        (folder / name).chmod(0o644)


def tried_well(changes: Iterable[LayerChange]) -> bool:
    """Returns whether these are the changes of `TRIAL`."""
    return {each.path: each.data for each in changes} == TRIAL_CHANGES


def user_inside() -> tuple[int, int]:
    """Returns the user and group of commands, which is never root: if the server is root, commands run as another user,
    who can read only what every user can."""
    return os.geteuid() or USER_ID, os.getegid() or USER_ID


def mounts_itself() -> bool:
    """Returns whether the server mounts the overlays, instead of the program that runs containers."""
    return os.geteuid() == 0


def can_lie_over(spec: CommandSpec, program: ProgramName) -> bool:
    """Returns whether overlays can be mounted where the command writes, because Podman takes no path with a colon."""
    places = (spec.workspace, *spec.scratch)
    return mounts_itself() or program == "docker" or not any(":" in str(place) for place in places)


@asynccontextmanager
async def open_layer(
    spec: CommandSpec, area: Path, clear: Callable[[Path], None]
) -> AsyncGenerator[tuple[Layer, tuple[tuple[Path, Path], ...]]]:
    """Yields the layer of one command, and each place that it may write to with the parts of its overlay.

    `clear` empties a folder of files that only root may remove. Raises OSError.
    """
    async with lent(partial(_make, spec, area), partial(_remove, clear)) as layer:
        yield layer, _overlays(layer, spec)


def excess_of(layer: Layer, spec: CommandSpec, limits: Limits) -> Callable[[], str | None]:
    """Returns a function that says in words which limit is passed by what the command writes. Raises OSError."""
    folder = layer.scratch if spec.scratch else layer.upper
    return partial(layer_excess, folder, limits, free_space(folder))


def _overlays(layer: Layer, spec: CommandSpec) -> tuple[tuple[Path, Path], ...]:
    if not spec.scratch:
        return ((spec.workspace, layer.folder),)
    return tuple((folder, merged.parent) for folder, merged in layer.scratch_of(spec.scratch).items())


def _make(spec: CommandSpec, area: Path) -> Layer:
    given = (area, spec.workspace)
    layer = (
        Layer.make_scratch(*given, spec.scratch, prefix_of("layer"))
        if spec.scratch
        else Layer.make(*given, prefix_of("layer"))
    )
    if mounts_itself():
        folders = [str(parts) for _, parts in _overlays(layer, spec)]
        argv = [*program_of_ours("containers.mount_layer"), *map(str, user_inside()), *folders]
        try:
            subprocess.run(argv, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_MOUNT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            layer.remove()
            said = last_line(error.stderr) if isinstance(error, subprocess.CalledProcessError) else str(error)
            raise OSError(f"no layer can be mounted: {said}") from error
    return layer


def _remove(clear: Callable[[Path], None], layer: Layer) -> None:
    layer.remove()
    # Docker's daemon is root, and leaves files that only root can remove.
    if layer.folder.exists():
        clear(layer.folder)
        layer.remove()
