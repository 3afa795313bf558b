"""A repository's objects, read so that nothing among them makes us wait or takes all memory (GIT-04)."""

from __future__ import annotations

import os
import stat
import zlib

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID, ShaFile, hex_to_sha, sha_to_hex
from dulwich.pack import Pack

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import MAX_FILE_BYTES
from remit_server.workspace.git_folder import GitFiles
from remit_server.workspace.git_packed import must_fit

_HEX_DIGITS = 40
_LARGEST = MAX_FILE_BYTES * 4
_PACKED = ("objects/pack", "objects/info", "objects/info/commit-graphs")


class Objects(DiskObjectStore):
    """Opens files only, as reading a FIFO may wait for ever, and inflates nothing that is too large."""

    def get_raw(self, name: RawObjectID | ObjectID) -> tuple[int, bytes]:
        """Returns an object's kind and bytes. Raises ToolError where it is too large, KeyError where it is not
        there."""
        sha = hex_to_sha(ObjectID(name)) if len(name) == _HEX_DIGITS else RawObjectID(name)

        def packed(pack: Pack) -> tuple[int, bytes]:
            must_fit(pack, sha, _LARGEST)
            try:
                return pack.get_raw(sha)
            except zlib.error as error:
                why = str(error)
            # Not from within: the error's frames hold views of the pack, which cannot be closed as long as they do.
            raise ValueError(f"a pack is broken: {why}")

        try:
            return self._lookup_in_packs(packed)
        except KeyError:
            loose = self._get_loose_object(sha_to_hex(sha))
            if loose is None:
                raise
            return loose.type_num, loose.as_raw_string()

    def _get_loose_object(self, sha: ObjectID) -> ShaFile | None:
        if not _is_file(self._get_shafile_path(sha)):
            return None
        return super()._get_loose_object(sha)


def objects_of(git: GitFiles) -> Objects:
    """Returns the objects of the repository. Raises ToolError where what should be a file of them is none."""
    for name in _PACKED:
        try:
            folder = git.open_folder(name)
        except ToolError as error:
            if error.code is ErrorCode.NOT_FOUND:
                continue
            raise
        try:
            names = os.listdir(folder)  # noqa: PTH208  by its descriptor
            odd = [each for each in names if not _is_file(each, folder) and each != "commit-graphs"]
        finally:
            os.close(folder)
        if odd:
            raise ToolError(
                "cannot commit", f"`.git/{name}/{odd[0]}` is no file", "look at the repository with `git fsck`"
            )
    return Objects(git.absolute("objects"), loose_object_size_limit=_LARGEST)


def _is_file(name: str, folder: int | None = None) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
