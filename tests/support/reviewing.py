"""A client that knows nothing of Remit, with one file open of which the model changes three places."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LINES = [f"line {n}\n" for n in range(40)]
EDITS = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
PLAIN = {"workspace": EDITS}
CAPABILITIES = {
    "workspace": {**EDITS, "codeLens": {"refreshSupport": True}},
    "window": {"showDocument": {"support": True}},
}
ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: fs.read }, action: allow }
  - { name: asks, match: { syscall: fs.write }, action: require_review }
"""


def changed(*numbers: int) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(LINES))


INTENT = {"name": "select_active_intent", "arguments": {"intent": "CODE"}}


def write(path: str, content: str) -> dict[str, Any]:
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


class Reviewing:
    """A plain client with one file open, of which the model changes three places."""

    def __init__(self, client: Any, choose: Callable[[dict[str, Any]], Any]) -> None:
        self.client = client
        client.handlers["window/showMessageRequest"] = choose
        client.handlers["workspace/codeLens/refresh"] = lambda _: None
        client.handlers["window/showDocument"] = lambda _: {"success": True}
        client.handlers["workspace/applyEdit"] = self.apply
        self.text, self.version = "".join(LINES), 1

    async def begin(
        self, tmp_path: Path, capabilities: Any = None, edits: Sequence[Any] = (), typed: str | None = None
    ) -> Any:
        await self.prepare(tmp_path, CAPABILITIES if capabilities is None else capabilities, edits=edits)
        if typed is not None:
            send = {"command": "remit.chat.send", "arguments": [{"text": typed}]}
            await self.client.result("workspace/executeCommand", send)
        return self.client.start("workspace/executeCommand", {"command": "remit.ask", "arguments": ["go"]})[1]

    async def prepare(self, tmp_path: Path, capabilities: Any, remit: Any = None, edits: Sequence[Any] = ()) -> None:
        calls = edits or [write("b.txt", changed(2, 20, 37))]
        steps = [*({"calls": [INTENT, call]} for call in calls), {"text": "done"}, {"text": "I see"}]
        (tmp_path / "script.json").write_text(json.dumps(steps))
        (self.client.root / ".remit").mkdir()
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "policy.yaml").write_text(ASKS)
        (self.client.root / "b.txt").write_text("".join(LINES))
        self.announced = (await self.client.initialize(capabilities, remit))["capabilities"]
        self.uri = self.client.open("b.txt", "".join(LINES))

    async def command(self, name: str, **given: Any) -> Any:
        params = {"command": f"remit.review.{name}", "arguments": [given]}
        return await self.client.result("workspace/executeCommand", params)

    async def lenses(self) -> list[Any]:
        found: list[Any] = await self.client.result("textDocument/codeLens", {"textDocument": {"uri": self.uri}})
        return found

    async def asked(self) -> None:
        await self.client.until(
            lambda: [each for each in self.client.asked if each["method"] == "window/showMessageRequest"]
        )

    def apply(self, params: dict[str, Any]) -> dict[str, bool]:
        (change,) = params["edit"]["documentChanges"]
        assert change["textDocument"]["version"] == self.version
        for edit in sorted(change["edits"], key=lambda each: -each["range"]["start"]["line"]):
            lines = self.text.splitlines(keepends=True)
            start, end = (
                sum(map(len, lines[: place["line"]])) + place["character"]
                for place in (edit["range"]["start"], edit["range"]["end"])
            )
            self.text = self.text[:start] + edit["newText"] + self.text[end:]
        self.version += 1
        self.client.change(self.uri, self.version, {"text": self.text})
        return {"applied": True}
