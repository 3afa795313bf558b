"""Programs of everyday use run in the sandbox too, because people turn off a sandbox that prevents their work
(LSP-04)."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")]

EVERYDAY = {
    "make": "printf 'it:\\n\\t@echo made; echo it\\n' > Makefile; make it | grep -q made",
    "git": "git init -q . && echo x > f && git add -A && git -c user.name=a -c user.email=b commit -qm x && git log --oneline | grep -q x",
    "python3": "python3 -c 'import multiprocessing as m, subprocess as s; m.Pool(2).map(abs, [1]); s.check_call([\"true\"])'",
    "node": 'node -e \'require("child_process").execFileSync("true"); new (require("worker_threads").Worker)("1", {eval: true})\'',
    "npm": 'printf \'{"scripts": {"test": "echo tested"}}\' > package.json; npm test --silent | grep -q tested',
    "gcc": "echo 'int main(void) { return 0; }' > a.c && gcc a.c -o a && ./a",
    "tar": "echo x > f; tar czf f.tgz f; rm f; tar xzf f.tgz; grep -q x f",
    "sed": "echo a > f; sed -i s/a/b/ f; grep -q b f; mv f g; cp -a g h; ln -s h i; chmod +x h; ls -la i",
    "find": "mkdir -p d/e; touch d/e/f; find . -name f -exec ls {} + ; find d -delete; test ! -e d",
    "perl": "perl -e 'print qx(echo hi)' | grep -q hi",
}


GIVES_UP_SOON = {
    "npm": 'test "$(npm config get fetch-retry-maxtimeout)" = 1000',
    "pip3": "pip3 config list | grep -q \"retries='1'\"",
}


@pytest.mark.parametrize("program", GIVES_UP_SOON)
def test_BOX_08_what_finds_no_network_gives_up_soon(tmp_path: Path, program: str) -> None:
    if shutil.which(program, path=command_environment(os.environ)["PATH"]) is None:
        pytest.skip(f"this machine has no {program} where a sandbox looks for it")
    command = ("/bin/sh", "-c", GIVES_UP_SOON[program])
    spec = CommandSpec(command, tmp_path, tmp_path, command_environment(os.environ), 60)
    assert asyncio.run(Bubblewrap().run(spec)).exit_code == 0


@pytest.mark.parametrize("program", EVERYDAY)
def test_an_everyday_program_works_and_may_write(tmp_path: Path, program: str) -> None:
    if shutil.which(program, path=command_environment(os.environ)["PATH"]) is None:
        pytest.skip(f"this machine has no {program} where a sandbox looks for it")
    script = f"set -e; {EVERYDAY[program]}"
    spec = CommandSpec(("/bin/sh", "-c", script), tmp_path, tmp_path, command_environment(os.environ), 60, writes=True)
    output = asyncio.run(Bubblewrap().run(spec))
    assert (output.exit_code, output.stderr.decode()) == (0, output.stderr.decode())
    assert list(tmp_path.iterdir()) == []
