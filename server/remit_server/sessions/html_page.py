"""An HTML page in one file, without scripts and without anything that is loaded from elsewhere; pure (SES-04)."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, style: str, body: Iterable[str]) -> str:
    """Returns the page. `body` is HTML already."""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f"<title>{escape(title)}</title>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<style>{style}</style>",
        "<body>",
        *body,
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"
