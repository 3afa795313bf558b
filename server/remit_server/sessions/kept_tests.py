"""The files of tests that a proof is of, among the kept contents: each text once, and their listing (FLW-12)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from remit_governance.workflow.proof.runs import TestFiles
from remit_server.sessions.contents import Contents

_LISTING: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def keep_tests(store: Contents, tests: TestFiles) -> None:
    """Keeps all of them, the listing last. Raises OSError."""
    for path, text in tests.texts.items():
        store.keep(tests.digests[path], text.encode(errors="surrogateescape"), durable=False)
    store.keep(tests.digest, tests.listing)


def read_tests(store: Contents, digest: str) -> TestFiles | None:
    """Returns the files of a listing; None where it or one of them was not kept, or is another by now."""
    texts: dict[str, str] = {}
    for path, of_file in (_listed(store, digest) or {}).items():
        data = store.get(of_file)
        if data is None:
            return None
        texts[path] = data.decode(errors="surrogateescape")
    found = TestFiles(texts)
    return found if found.digest == digest else None


def digests_of(store: Contents, digest: str) -> Iterator[str]:
    """Yields the digest of a listing, and those that it lists."""
    yield digest
    yield from (_listed(store, digest) or {}).values()


def _listed(store: Contents, digest: str) -> dict[str, str] | None:
    data = store.get(digest)
    try:
        return None if data is None else _LISTING.validate_json(data)
    except ValidationError:
        return None
