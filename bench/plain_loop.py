"""An agent loop with nothing around it, with which Remit is compared. One model on a server with OpenAI's protocol.

`python bench/plain_loop.py FORM URL MODEL WORKSPACE REQUEST` prints one JSON object. The forms: `native` (the server's
own tool calls, without constraints), `held` (each step by a JSON schema, rules as the prompt) and `examples` (the same
schema, with a conversation for each tool instead of the rules). It asks no questions, isolates only commands, and has
eight tools.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MAX_STEPS, MAX_TOKENS, SHOWN = 8, 300, 6_000
TOOLS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "list_files": ("List all files.", ()),
    "read_file": ("Read a text file.", ("path",)),
    "search": ("Find the lines that contain a text.", ("text",)),
    "write_file": ("Write a whole new file.", ("path", "content")),
    "replace_text": ("Replace a text in a file.", ("path", "old", "new")),
    "delete_file": ("Delete a file.", ("path",)),
    "move_file": ("Rename a file.", ("path", "new_path")),
    "run_command": ("Run a shell command.", ("command",)),
}
RULES = (
    "You are a coding agent in the person's workspace. Answer each time with one JSON object: "
    '{"tool": NAME, "arguments": {...}} to use a tool, or {"answer": TEXT} when you are done. Tools: '
    + "; ".join(f"{name}({', '.join(names)}): {about}" for name, (about, names) in TOOLS.items())
)
TAX = "RATE = 0.2\n\ndef tax(price):\n    return price * RATE\n"
TALKS: Sequence[tuple[str, Sequence[tuple[str, Mapping[str, str], str]], str]] = (
    ("Where is class Cart?", [("search", {"text": "class Cart"}, "cart.py:1: class Cart:")], "In cart.py, line 1."),
    ("What does tax.py do?", [("read_file", {"path": "tax.py"}, TAX)], "It computes a tax at a fixed rate of 0.2."),
    (
        "Change RATE in tax.py to 0.3",
        [
            ("read_file", {"path": "tax.py"}, TAX),
            ("replace_text", {"path": "tax.py", "old": "RATE = 0.2", "new": "RATE = 0.3"}, "replaced 1 times"),
        ],
        "RATE is 0.3 now.",
    ),
    (
        "Write a function half(n) to a new file half.py",
        [("write_file", {"path": "half.py", "content": "def half(n):\n    return n / 2\n"}, "written")],
        "half.py has half(n) now.",
    ),
    ("Run `uptime -p`", [("run_command", {"command": "uptime -p"}, "up 2 days\nexit 0")], "It says: up 2 days."),
    ("Delete old.py", [("delete_file", {"path": "old.py"}, "deleted")], "old.py is deleted."),
    ("Rename a.txt to b.txt", [("move_file", {"path": "a.txt", "new_path": "b.txt"}, "moved")], "It is b.txt now."),
    ("Which files are there?", [("list_files", {}, "cart.py\ntax.py")], "cart.py and tax.py."),
)


def main() -> None:
    form, url, model, folder, request = sys.argv[1:6]
    print(json.dumps(run(form, url, model, Path(folder).resolve(), request)))


def run(form: str, url: str, model: str, workspace: Path, request: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [*begin(form), {"role": "user", "content": request}]
    usage: list[tuple[int, int]] = []
    kinds: list[str] = []
    before: object = None
    only_answer = False
    for _ in range(MAX_STEPS):
        body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS}
        said = ask(url, body | holding(form, workspace, only_answer=only_answer))
        usage.append((said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]))
        message = said["choices"][0]["message"]
        steps = calls_of(form, message)
        kinds.append("cut" if steps is None else "answer" if isinstance(steps, str) else steps[0][0])
        if steps is None:
            return {"answer": "", "ended": "cut", "usage": usage, "kinds": kinds}
        if isinstance(steps, str):
            return {"answer": steps, "ended": "answered", "usage": usage, "kinds": kinds}
        messages.append(message if form == "native" else {"role": "assistant", "content": message["content"]})
        for name, arguments, number in steps:
            result = call(name, arguments, workspace)
            only_answer = form != "native" and (name, arguments) == before
            before = (name, arguments)
            again = f"\n\nNow answer: {request}" if only_answer else ""
            messages.append(
                {"role": "tool", "tool_call_id": number, "content": result}
                if form == "native"
                else {"role": "user", "content": f"Result of {name}:\n{result}{again}"}
            )
    return {"answer": "", "ended": "too many steps", "usage": usage, "kinds": kinds}


def ask(url: str, body: Mapping[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def begin(form: str) -> list[dict[str, Any]]:
    if form == "native":
        return [{"role": "system", "content": "You are a coding agent. Use the tools; answer when you are done."}]
    if form == "held":
        return [{"role": "system", "content": RULES}]
    messages = [{"role": "system", "content": "You are a coding agent. Each step is one JSON object."}]
    for question, uses, answer in TALKS:
        messages.append({"role": "user", "content": question})
        for name, arguments, result in uses:
            step = json.dumps({"tool": name, "arguments": arguments})
            messages.append({"role": "assistant", "content": step})
            messages.append({"role": "user", "content": f"Result of {name}:\n{result}"})
        messages.append({"role": "assistant", "content": json.dumps({"answer": answer})})
    return messages


def holding(form: str, workspace: Path, *, only_answer: bool) -> dict[str, Any]:
    if form == "native":
        tools = [
            {"name": name, "description": about, "parameters": closed({each: {"type": "string"} for each in names})}
            for name, (about, names) in TOOLS.items()
        ]
        return {"tools": [{"type": "function", "function": tool} for tool in tools]}
    steps = [] if only_answer else [step_of(name, names, workspace) for name, (_, names) in TOOLS.items()]
    schema = {"anyOf": [*steps, closed({"answer": {"type": "string"}})]}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "step", "schema": schema}}}


def step_of(name: str, names: Sequence[str], workspace: Path) -> Any:
    arguments: dict[str, Any] = {each: {"type": "string"} for each in names}
    if "path" in arguments and name != "write_file":
        arguments["path"] = {"enum": files(workspace)}
    return closed({"tool": {"const": name}, "arguments": closed(arguments)})


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def calls_of(form: str, message: Mapping[str, Any]) -> list[tuple[str, Any, str]] | str | None:
    """Returns the calls of a step or its answer, or None if it is neither."""
    try:
        if form == "native":
            calls = [(each["function"], each["id"]) for each in message.get("tool_calls") or ()]
            return [(each["name"], json.loads(each["arguments"]), number) for each, number in calls] or (
                message.get("content") or ""
            )
        step = json.loads(message["content"])
        return step["answer"] if "answer" in step else [(step["tool"], step["arguments"], "")]
    except (ValueError, KeyError, TypeError):
        return None


def files(workspace: Path) -> list[str]:
    found = (path.relative_to(workspace) for path in workspace.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if ".git" not in path.parts and "__pycache__" not in path.parts)


def call(name: str, arguments: Mapping[str, str], workspace: Path) -> str:
    try:
        return act(name, arguments, workspace)
    except Exception as error:  # the model may have requested anything
        return f"error: {error!r}"


def act(name: str, arguments: Mapping[str, str], workspace: Path) -> str:
    def place(argument: str) -> Path:
        path = (workspace / arguments[argument]).resolve()
        assert path.is_relative_to(workspace), "outside of the workspace"
        return path

    match name:
        case "list_files":
            return "\n".join(files(workspace))
        case "read_file":
            return place("path").read_text()[:SHOWN]
        case "search":
            lines = (
                f"{path}:{number}: {line}"
                for path in files(workspace)
                for number, line in enumerate((workspace / path).read_text(errors="replace").splitlines(), 1)
                if arguments["text"] in line
            )
            return "\n".join(lines)[:SHOWN] or "nothing found"
        case "write_file":
            place("path").parent.mkdir(parents=True, exist_ok=True)
            place("path").write_text(arguments["content"])
            return "written"
        case "replace_text":
            text, old = place("path").read_text(), arguments["old"]
            assert old, "there is no old text"
            assert old in text, "the old text is not in the file"
            place("path").write_text(text.replace(old, arguments["new"]))
            return f"replaced {text.count(old)} times"
        case "delete_file":
            place("path").unlink()
            return "deleted"
        case "move_file":
            place("path").rename(place("new_path"))
            return "moved"
        case "run_command":
            return shell(arguments["command"], workspace)
        case _:
            return "error: there is no such tool"


def shell(command: str, workspace: Path) -> str:
    box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-net"]
    own = ["--bind", str(workspace), str(workspace), "--chdir", str(workspace)]
    command_line = [*box, *own, "sh", "-c", command]
    done = subprocess.run(command_line, check=False, capture_output=True, text=True, timeout=20)
    return f"{(done.stdout + done.stderr)[-2000:]}\nexit {done.returncode}"


if __name__ == "__main__":
    main()
