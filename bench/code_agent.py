# /// script
# requires-python = ">=3.11"
# dependencies = ["smolagents[openai]>=1.26,<2"]
# ///
"""An agent that people choose for a small program: smolagents' CodeAgent, with the eight tools of `plain_loop.py`.

`uv run --script bench/code_agent.py URL MODEL WORKSPACE REQUEST` prints one JSON object, as `plain_loop.py` does. It
has the library's own prompt and loop, temperature 0, and the limits of the plain loops.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plain_loop import MAX_STEPS, MAX_TOKENS, TOOLS, call
from smolagents import CodeAgent, LogLevel, OpenAIServerModel, Tool


def main() -> None:
    url, model, folder, request = sys.argv[1:5]
    print(json.dumps(run(url, model, Path(folder).resolve(), request)))


def run(url: str, model: str, workspace: Path, request: str) -> dict[str, Any]:
    served = OpenAIServerModel(model, url, "none", temperature=0, max_tokens=MAX_TOKENS)
    tools = [tool_of(name, about, names, workspace) for name, (about, names) in TOOLS.items()]
    agent = CodeAgent(tools, served, max_steps=MAX_STEPS, verbosity_level=LogLevel.OFF)
    done = agent.run(request, return_full_result=True)
    counted = [step.get("token_usage") for step in done.steps]
    usage = [(each["input_tokens"], each["output_tokens"]) for each in counted if each]
    ended = "answered" if done.state == "success" else "too many steps"
    return {"answer": str(done.output or ""), "ended": ended, "usage": usage}


def tool_of(name: str, about: str, names: tuple[str, ...], workspace: Path) -> Tool:
    """Returns one of the tools as the library needs it: an object of a class whose `forward` takes named arguments."""
    named: dict[str, Any] = {
        "name": name,
        "description": about,
        "inputs": {each: {"type": "string", "description": each} for each in names},
        "output_type": "string",
        "skip_forward_signature_validation": True,
        "forward": forward_to(name, workspace),
    }
    made = type(name, (Tool,), named)()
    assert isinstance(made, Tool)
    return made


def forward_to(name: str, workspace: Path) -> Callable[..., str]:
    def forward(_: object, *given: str, **named: str) -> str:
        return call(name, {**dict(zip(TOOLS[name][1], given, strict=False)), **named}, workspace)

    return forward


if __name__ == "__main__":
    main()
