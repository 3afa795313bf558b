"""Fetches one page and makes readable text of it: a program that runs in the sandbox, by itself (TOOL-26).

`python -I -S inside_fetch.py PACKAGES QUESTION`, where the question is `{"url", "seconds", "most"}` as JSON, prints one
JSON object. A hostile page could take over the program that reads it, so here that program reaches one host and no
file, and has little time.
"""

from __future__ import annotations

import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
import zlib
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

NAME = "remit"
"""Our name for robots.txt, and the first word of the user agent that servers are told."""

_HEADERS = {"User-Agent": f"{NAME}/1 (a person's assistant)", "Accept": "text/html,text/*;q=0.9,*/*;q=0.5"}
_HOPS = 5
_CHUNK = 1 << 16
_ROBOTS_BYTES = 500_000
_TEXTS = re.compile(r"text/|application/(?:[a-z0-9.+-]*[+])?(?:json|xml|yaml|javascript|x-ndjson|toml)\b")
_NOT_READ = frozenset(("script", "style", "noscript", "template", "svg", "nav", "aside", "footer", "form", "iframe"))
_BLANK = re.compile(r"\s*\n\s*\n\s*")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([a-zA-Z0-9_-]{1,40})""", re.IGNORECASE)


class Unread(Exception):
    """No page can be read; the message says why."""


class Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because its target is checked first."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:  # noqa: PLR0917
        """Returns None, so that the redirect itself is the answer."""
        del req, fp, code, msg, headers, newurl


def fetch(url: str, most: int, until: float) -> dict[str, Any]:
    """Returns the page at an address: its `url` after redirects on the same host, `type`, `title`, `text`, and `cut`,
    True if the page is longer than `most` bytes. If the page redirects to another host, returns `moved` with that
    address. Raises Unread."""
    opener = opened()
    allows: RobotFileParser | None = None
    for _ in range(_HOPS + 1):
        allows = allows or robots(opener, url, until)
        if not allows.can_fetch(NAME, url):
            raise Unread("its robots.txt asks programs not to read it")
        status, headers, data, cut = get(opener, url, most, until)
        if status not in {301, 302, 303, 307, 308}:
            if status >= 400:
                raise Unread(f"its host answered with {status}")
            data, more = unpacked(headers.get("Content-Encoding", "identity").strip().lower(), data, most)
            return {"url": url, "cut": cut or more, **readable(headers, data, url)}
        following = urljoin(url, headers.get("Location") or "")
        if place(following) != place(url):
            return {"moved": following[:2_000]}
        url = following
    raise Unread(f"it redirects more than {_HOPS} times")


def place(url: str) -> tuple[str, str, int | None]:
    """Returns the parts of an address that a redirect must not change, because policy was asked about this host
    only."""
    found = urlsplit(url)
    try:
        return found.scheme, (found.hostname or "").rstrip("."), found.port or 443
    except ValueError:
        return found.scheme, "", None


def opened() -> urllib.request.OpenerDirector:
    """Returns an opener that uses the sandbox's proxy and trusts the machine's certificate authorities."""
    context = ssl.create_default_context()
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), Stays())


def robots(opener: urllib.request.OpenerDirector, url: str, until: float) -> RobotFileParser:
    """Returns the rules of the host's robots.txt; a missing or failing one is treated as in RFC 9309. Raises Unread."""
    parser = RobotFileParser()
    status, _, data, _ = get(opener, urljoin(url, "/robots.txt"), _ROBOTS_BYTES, until)
    if status >= 500:
        raise Unread(f"its host answered with {status} when asked for its robots.txt")
    parser.parse(data.decode("utf-8", errors="replace").splitlines() if status == 200 else [])
    return parser


def get(opener: urllib.request.OpenerDirector, url: str, most: int, until: float) -> tuple[int, Message, bytes, bool]:
    """Returns the status, the headers, at most `most` bytes, and whether there are more. Raises Unread."""
    left = until - time.monotonic()
    if left <= 0:
        raise Unread("it did not answer in time")
    request = urllib.request.Request(url, headers=_HEADERS)  # noqa: S310  the caller lets only https in
    try:
        answer = opener.open(request, timeout=left)
    except urllib.error.HTTPError as error:
        answer = error
    except (OSError, ValueError) as error:
        raise Unread(str(getattr(error, "reason", error))[:300]) from error
    with answer:
        data = b""
        try:
            while len(data) <= most and time.monotonic() < until and (chunk := answer.read(_CHUNK)):
                data += chunk
        except OSError as error:
            raise Unread(f"it broke off: {error}"[:300]) from error
        return answer.status or 0, answer.headers, data[:most], len(data) > most


def readable(headers: Message, data: bytes, url: str) -> dict[str, Any]:
    """Returns `type`, `title` and `text` of the data. Raises Unread if it is no text."""
    kind = headers.get_content_type()
    if kind in {"text/html", "application/xhtml+xml"}:
        return {"type": kind, **of_html(decoded(headers, data), url)}
    if _TEXTS.match(kind):
        return {"type": kind, "title": "", "text": decoded(headers, data)}
    raise Unread(f"it is not text but `{kind[:60]}`, {len(data):,} bytes")


def unpacked(coding: str, data: bytes, most: int) -> tuple[bytes, bool]:
    """Returns the uncompressed data, at most `most` bytes, and whether there are more. Some hosts compress although the
    request did not ask for it. Raises Unread."""
    if coding in {"", "identity"}:
        return data, False
    if coding not in {"gzip", "deflate"}:
        raise Unread(f"it is compressed as `{coding[:40]}`")
    try:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        found = unpacker.decompress(data, most)
    except zlib.error as error:
        raise Unread("its compressed data cannot be read") from error
    return found, bool(unpacker.unconsumed_tail)


def decoded(headers: Message, data: bytes) -> str:
    """Returns the text, in the character set that the headers or the page name, else UTF-8."""
    named = _CHARSET.search(data[:2_000])
    charset = headers.get_content_charset() or (named[1].decode("ascii") if named else "utf-8")
    try:
        return data.decode(charset, errors="replace")
    except LookupError:
        return data.decode("utf-8", errors="replace")


def of_html(html: str, url: str) -> dict[str, str]:
    """Returns the title of a page and its readable part as Markdown."""
    import bs4
    import markdownify

    page: Any = bs4.BeautifulSoup(html, "html.parser")
    title = " ".join(page.title.get_text().split())[:300] if page.title else ""
    body = page.find("main") or page.find("article") or page.body or page
    for each in body.find_all(unseen):
        each.extract()
    for link in body.find_all("a", href=True):
        link["href"] = absolute(url, link["href"])
    convert: Any = markdownify.MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"])
    try:
        text = str(convert.convert_soup(body))
    except RecursionError:
        text = body.get_text()
    return {"title": title, "text": _BLANK.sub("\n\n", text).strip()}


def unseen(element: Any) -> bool:
    """Returns whether a reader of the page does not see this element or would skip it. Hidden text may be meant for a
    model."""
    style = str(element.get("style") or "").replace(" ", "").lower()
    hidden = element.has_attr("hidden") or element.get("aria-hidden") == "true"
    return element.name in _NOT_READ or hidden or "display:none" in style or "visibility:hidden" in style


def absolute(url: str, link: str) -> str:
    """Returns the address that a link leads to, or the link itself if it cannot be read."""
    try:
        return urljoin(url, link)
    except ValueError:
        return link


def main(packages: str, asked: str) -> None:
    """Prints the page as JSON, or `failed` with the reason."""
    sys.path.insert(0, packages)
    question = json.loads(asked)
    try:
        found = fetch(question["url"], int(question["most"]), time.monotonic() + float(question["seconds"]))
    except Unread as error:
        found = {"failed": str(error)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
