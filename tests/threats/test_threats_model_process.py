"""What the model process is given, and which programs the model's folder makes it run, with the real program
(MOD-02)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from messages import SAYS
from random_model import kept_model
from running_server import RunningServer
from tiny_models import tiny_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

SECRETS = {"OPENAI_API_KEY": "sk-quiet-word-1", "GITHUB_TOKEN": "quiet-word-2", "DEPLOY_PASSWORD": "quiet-word-3"}


def _descendants(pid: int) -> list[Path]:
    """Returns the folders in /proc of all processes below this one."""
    listed = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    children = [int(child) for text in listed for child in text.split()]
    return [Path(f"/proc/{child}") for child in children] + [each for child in children for each in _descendants(child)]


def test_THR_sandbox_the_process_of_a_running_servers_model_has_none_of_its_secrets(tmp_path: Path) -> None:
    """THR-sandbox-environment-server: the environment is read in /proc while the model is loaded."""
    with RunningServer(tmp_path, REMIT_MODEL=kept_model(), REMIT_MAX_TOKENS="16", **SECRETS) as server:
        (server.workspace / "a.py").write_text("total = 1\n")
        turn = server.client.run("1", {"type": "text", "text": "look up the definition of total_sum"})
        server.client.result(turn)
        hosts = [
            each for each in _descendants(server.client.pid) if b"models.local.host" in (each / "cmdline").read_bytes()
        ]
        own = Path(f"/proc/{server.client.pid}/environ").read_bytes()
        given = [(each / "environ").read_bytes() for each in hosts]
    assert b"quiet-word-1" in own
    assert len(given) == 1
    assert b"PATH=" in given[0]
    assert b"quiet-word" not in given[0]


def _folder(folder: Path, **settings: dict[str, Any]) -> Path:
    """Makes a model's folder; `settings` has more values for its JSON files, by their names without `.json`."""
    tiny_model("bytes", folder)
    for name, more in settings.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | more))
    return folder


BRINGS: dict[str, dict[str, dict[str, Any]]] = {
    "model file": {"config": {"model_file": "evil.py"}},
    "auto map": {
        "config": {"auto_map": {"AutoConfig": "evil.C"}},
        "tokenizer_config": {"tokenizer_class": "T", "auto_map": {"AutoTokenizer": ["evil.T", None]}},
    },
    "parser": {"tokenizer_config": {"tool_parser_type": "evil", "chat_template_type": "evil"}},
}


@pytest.mark.parametrize("how", BRINGS)
def test_THR_model_a_folder_with_a_program_is_refused_by_the_program(
    how: str, remit: CommandLine, tmp_path: Path
) -> None:
    """THR-model-a-folder-with-a-program-cli: a turn and `model check` refuse the folder, and its program does not
    run."""
    marker = tmp_path / "started"
    folder = _folder(tmp_path / "model", **BRINGS[how])
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    asked = remit("rename total to subtotal", "--json", REMIT_MODEL=str(folder))
    assert asked.code == 1
    assert asked.lines[-1]["result"]["error"]["code"] == "model_unavailable"
    assert remit("model", "check", str(folder)).code == 1
    assert not marker.exists()


def test_THR_model_a_template_that_starts_a_program_starts_none_by_the_program(
    remit: CommandLine, tmp_path: Path
) -> None:
    """THR-model-a-template-cli: the template is rendered, but the objects that it wants to use are not there."""
    marker = tmp_path / "started"
    escapes = (
        f"cycler.__init__.__globals__.os.system('touch {marker}')",
        f"lipsum.__globals__['os'].popen('touch {marker}')",
        f"''.__class__.__mro__[1].__subclasses__()[0].__init__.__globals__['os'].system('touch {marker}')",
    )
    for number, escape in enumerate(escapes):
        template = "{{ " + escape + " }}" + "{% for m in messages %}{{ m.content }}{% endfor %}"
        folder = _folder(tmp_path / f"model-{number}", tokenizer_config={"chat_template": template})
        assert (
            remit(
                SAYS.rename_total_to_subtotal, REMIT_MODEL=str(folder), REMIT_PROFILE="large", REMIT_MAX_STEPS="1"
            ).code
            == 1
        )
        assert not marker.exists()
