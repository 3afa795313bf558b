"""Accesses the hub over the network, through its own client: the only module that imports `huggingface_hub`.

Only one command imports it, `remit model pull`; no turn, no server and no file of a project does.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

import httpx2
from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import http_get  # pyright: ignore[reportUnknownVariableType]
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, disable_progress_bars  # type: ignore[attr-defined]

from remit_server.errors import ModelUnavailable
from remit_server.models.local.hub.cache import HubName, is_commit
from remit_server.models.local.hub.model_files import RemoteFile

# Otherwise the client would also fetch a list of agents, and tell the hub which of them runs it.
constants.HF_HUB_DISABLE_TELEMETRY = True

_SIGN_IN = "sign in with `hf auth login`, or set HF_TOKEN"
_UNAUTHORISED, _FORBIDDEN = 401, 403
# Received bytes survive a killed pull, so they are written often; the client's own blocks are ten times larger.
_PIECE = 1 << 20
_MOST_LISTED = 2_000
"""The most files listed at a repository's root; each page of the list names the next, possibly without end."""


def list_files(name: HubName) -> tuple[str, tuple[RemoteFile, ...]]:
    """Returns the commit that a name has now, and the files at its root. Raises ModelUnavailable."""
    with _translate_errors(name):
        api = HfApi()
        commit = api.model_info(name.repo, revision=name.revision).sha or ""
        if not is_commit(commit):
            why = f"{constants.ENDPOINT} does not answer like a hub"
            raise ModelUnavailable(_what(name), why, "check HF_ENDPOINT")
        tree = api.list_repo_tree(name.repo, revision=commit)
        files = [_file(entry) for entry in islice(tree, _MOST_LISTED + 1) if isinstance(entry, RepoFile)]
        if len(files) > _MOST_LISTED:
            why = f"{constants.ENDPOINT} lists more than {_MOST_LISTED:,} files"
            raise ModelUnavailable(_what(name), why, "choose another model, or check HF_ENDPOINT")
    return commit, tuple(files)


def fetch(name: HubName, commit: str, file: RemoteFile, into: BinaryIO) -> None:
    """Appends the missing part of a file to `into`, which holds its beginning.

    A lost connection is retried a few times. Raises ModelUnavailable, and OSError if `into` cannot be written.
    """
    disable_progress_bars()
    constants.DOWNLOAD_CHUNK_SIZE = _PIECE
    with _translate_errors(name):
        url = hf_hub_url(name.repo, file.name, revision=commit)
        http_get(url, into, resume_size=into.tell(), headers=build_hf_headers(), expected_size=file.size)


def _file(entry: RepoFile) -> RemoteFile:
    if entry.lfs is not None:
        return RemoteFile(entry.path, entry.lfs.size, entry.lfs.sha256)
    return RemoteFile(entry.path, entry.size, entry.blob_id)


def _what(name: HubName) -> str:
    return f"`{name}` cannot be pulled"


@contextmanager
def _translate_errors(name: HubName) -> Generator[None]:
    """Translates the client's exceptions to ModelUnavailable; errors of the disk are passed on."""
    try:
        yield
    except (httpx2.HTTPError, HFValidationError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why, fix = _reason(name, error)
        raise ModelUnavailable(_what(name), why, fix, retryable=isinstance(error, httpx2.TransportError)) from error


def _reason(name: HubName, error: Exception) -> tuple[str, str]:
    """Returns why, and what to do."""
    again = f"run `remit model pull {name}` again: it resumes where it stopped"
    page = f"{constants.ENDPOINT}/{name.repo}"
    match error:
        case OfflineModeIsEnabled():
            said = "HF_HUB_OFFLINE says that there is no network", "unset HF_HUB_OFFLINE"
        case GatedRepoError():
            said = "it is gated: its owner grants access", f"ask for access at {page}, then {_SIGN_IN}"
        case RepositoryNotFoundError():
            said = f"{constants.ENDPOINT} shows no such repository", f"check the name; if it is private, {_SIGN_IN}"
        case RevisionNotFoundError():
            said = f"it has no revision `{name.revision}`", f"choose one that {page} lists"
        case HfHubHTTPError() if error.response.status_code in {_UNAUTHORISED, _FORBIDDEN}:
            said = f"the hub refused with status {error.response.status_code}", f"{_SIGN_IN}; the page is {page}"
        case HfHubHTTPError():
            said = f"the hub answered with status {error.response.status_code}", again
        case httpx2.HTTPError():
            said = f"{constants.ENDPOINT} cannot be reached: {_first_line(error)}", f"check the network, then {again}"
        case _:
            said = _first_line(error), again
    return said


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
