"""What one stream of a command prints, as whole lines without private keys; pure (SEC-01, TOOL-03)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.secrets.secret_shapes import find_key, key_body_begins, may_hold_key, skip_key_body

MAX_LINE = 16 * 1024
MAX_KEY_LINES = 500
_KEY_ENDS = b"-----END "
_KEY = b"[redacted private key]\n"
_LONG_LINE = b"[... a long line ...]"


@dataclass(slots=True)
class PrintedLines:
    """Takes what comes and returns the lines that are whole by then, each with `\\n` at its end.

    Lines in which no key begins are taken together, whatever their number: a flood of short lines costs what as many
    bytes of long ones do.
    """

    _part: bytes = b""
    _too_long: bool = False
    _key_lines: int = 0
    _in_body: bool = False

    def take(self, text: bytes) -> bytes:
        """Takes more of it."""
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = self._part + text
        ends = text.rfind(b"\n") + 1
        lines, part = text[:ends], text[ends:]
        if lines and self._too_long:
            lines, self._too_long = _LONG_LINE + lines[lines.index(b"\n") :], False
        # Half a line may hold half a secret: it is given out when it is whole, or at the end.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        return self._without_keys(lines)

    def take_rest(self) -> bytes:
        """Returns the line that has no end, where there is one: no more will come."""
        last = _LONG_LINE if self._too_long else self._part
        self._part, self._too_long = b"", False
        return self._without_keys(last + b"\n") if last else b""

    def _without_keys(self, lines: bytes) -> bytes:
        """Returns whole lines but for keys: one has many lines, of which none alone looks like a secret."""
        if not (self._in_body or self._key_lines or may_hold_key(lines)):
            return lines
        shown, at = list[bytes](), 0
        while at < len(lines):
            if self._in_body:
                at = skip_key_body(lines, at)
                self._in_body = at == len(lines)
            elif self._key_lines:
                at = self._skip_key_line(lines, at)
            else:
                begins = find_key(lines, at)
                after = lines.find(b"\n", begins) + 1 or len(lines)
                shown += [lines[at:begins], self._begin_key(lines[begins:after])]
                at = after
        return b"".join(shown)

    def _begin_key(self, line: bytes) -> bytes:
        """Takes the line in which a key may begin; returns what is shown for it."""
        self._in_body = key_body_begins(line)
        self._key_lines = int(bool(line) and not self._in_body and _KEY_ENDS not in line)
        return _KEY if self._in_body or self._key_lines else line

    def _skip_key_line(self, lines: bytes, at: int) -> int:
        """Passes over a line of a key with a marker; returns where the next one begins."""
        after = lines.index(b"\n", at) + 1
        self._key_lines = 0 if _KEY_ENDS in lines[at:after] else (self._key_lines + 1) % MAX_KEY_LINES
        return after
