"""The files of the built-in page, which come with the program (TRN-06)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

_SCRIPTS = ("page", "common", "questions", "chat", "audit", "agents")

PAGE: Mapping[str, tuple[str, str]] = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in _SCRIPTS},
}
"""By its path: the file, and its type. The page does nothing by itself and knows no token."""


def read_page(path: str) -> tuple[str, str]:
    """Returns the text and the type of a part of the page."""
    name, kind = PAGE[path]
    return (files("remit_server.transports.http") / "page" / name).read_text(encoding="utf-8"), kind
