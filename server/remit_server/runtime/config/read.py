"""Reads one configuration file, and says everything that is wrong with it (CFG-03)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.document import OF_PROJECT, OWN, Document
from remit_governance.policy.language.parse_form import parse_form
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.config.form import SECTIONS, ConfigForm, project_may, variable_of

MAX_BYTES = 1 << 20


def read_file(path: Path, *, project: bool) -> tuple[Document, ConfigForm]:
    """Reads a file; returns its places and what it sets. Raises SetupError with the first problem in it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8"
        raise unusable(f"{path}: {why}", "make it a readable text file, or remove it") from error
    if len(data) > MAX_BYTES:
        raise unusable(f"{path}: it is larger than {MAX_BYTES >> 20} MiB", "make it smaller")
    try:
        return parse(str(path), text, project=project)
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error


def parse(file: str, text: str, *, project: bool) -> tuple[Document, ConfigForm]:
    """Returns the places of a file's text and what it sets. Raises PolicyError with every problem in it."""
    document, form = parse_form(file, text, ConfigForm, SECTIONS, most=OF_PROJECT if project else OWN)
    if project and (problems := tuple(_not_a_projects(document, form))):
        raise PolicyError(problems)
    return document, form


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of a configuration that cannot be used."""
    return SetupError("the configuration cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


def _not_a_projects(document: Document, form: ConfigForm) -> Iterator[Problem]:
    for section in sorted(form.model_fields_set):
        for name in sorted(getattr(form, section).model_fields_set):
            if project_may(section, name) == "no":
                fix = f"remove it there; you can set it in your own file, or as {variable_of(section, name)}"
                yield document.problem((section, name), f"a project may not set `{section}.{name}`", fix)
