"""A configuration with some settings, each by its own name, which only one section may have."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from remit_server.runtime.config.form import KEYS, ConfigForm

_SECTION = {name: section for section, name in KEYS}
_TWICE = {name for _, name in KEYS if [other for _, other in KEYS].count(name) > 1}


def is_setting(name: str) -> bool:
    """Returns whether a setting has this name."""
    return name in _SECTION


def configured(**settings: Any) -> ConfigForm:
    """Returns the configuration with these values, also those of a session that no file may set (`mode=Mode.DEBUG`)."""
    assert not _TWICE & settings.keys(), "two sections have it"
    sections: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in settings.items():
        sections[_SECTION[name]][name] = value
    form = ConfigForm()
    return form.model_copy(update={name: getattr(form, name).model_copy(update=sections[name]) for name in sections})
