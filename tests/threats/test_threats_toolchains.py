"""Commands try to reach the person's home through the toolchains, which they may read (BOX-02).

Each test runs real commands through the whole dispatcher, with a policy and a person that allow everything.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from home_bench import PROGRAMS, SECRETS, files_below, home_with_toolchains
from threat_bench import LAX, result, script

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    home.mkdir()
    monkeypatch.setenv("PATH", f"{home_with_toolchains(home)}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
async def bench(home: Path, make_bench: Any) -> Bench:
    made: Bench = await make_bench(policy=LAX)
    return made


async def test_THR_sandbox_a_toolchain_is_read_and_never_written(bench: Bench, home: Path) -> None:
    before = files_below(home)
    program = home / PROGRAMS[0]
    answer = await script(
        bench,
        f"""
        tool
        echo evil > {program}; echo evil >> {program}; rm -f {program}; mv {program} {program}.old
        chmod 777 {program} {program.parent}; touch -d 2000-01-01 {program}; ln -f /bin/sh {program.parent}/python3
        mkdir {home}/.pyenv/versions/9; cp /bin/true {home}/.cargo/bin/cargo; chmod u+w {home}/.cargo
        echo evil > {home}/.rustup/settings.toml; mkdir {home}/.rustup/toolchains/evil
        mount -o remount,rw,bind {home}/.cargo/bin; umount {home}/.cargo/bin
        echo evil > {home}/.cargo/config.toml; echo evil > {home}/.profile
        python3 -c "open('{program}', 'r+b').write(b'evil')"
        echo end
        """,
    )
    assert f"ran {PROGRAMS[0]}" in answer.output
    assert "end" in answer.output
    assert files_below(home) == before


async def test_THR_sandbox_of_the_home_toolchains_alone_are_read(bench: Bench, home: Path) -> None:
    files = " ".join(str(home / name) for name in SECRETS)
    answer = await script(
        bench,
        f"""
        tool
        cat {files}
        cd {home}/.cargo/bin; cat ../credentials.toml ../../.npmrc ../../.ssh/id_rsa
        grep -r "secret of" {home}; find {home} -name "id_rsa" -o -name "*.toml" | xargs cat
        ls -A {home} {home}/.cargo
        cat /proc/self/root{home}/.npmrc /proc/1/root{home}/.npmrc /proc/1/cwd/.npmrc
        """,
    )
    assert f"ran {PROGRAMS[0]}" in answer.output
    assert "secret of" not in answer.output
    assert "id_rsa\n" not in answer.output


@pytest.mark.slow
async def test_THR_sandbox_a_virtual_environment_leads_to_no_file_of_the_home(bench: Bench, home: Path) -> None:
    """A project brings along the settings of the environment and the link to its interpreter."""
    programs = bench.workspace / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in (".ssh", ".cargo", "."):
        (bench.workspace / ".venv" / "pyvenv.cfg").write_text(f"home = {home / name}\nexecutable = {home / name}/x\n")
        for target in (home / name, home / name / "id_rsa", home / ".pyenv/versions" / f"../../{name}"):
            (programs / "python3").unlink(missing_ok=True)
            (programs / "python3").symlink_to(target)
            command = f"cat .venv/bin/python3 {home}/.ssh/id_rsa {home}/.cargo/credentials.toml; ls -A {home}/{name}"
            answer = await result(bench, "run_command", command=command, asker=Answering())
            assert answer.ok
            assert "secret of" not in answer.output
            assert "credentials.toml\n" not in answer.output
