"""The command lines that the adapters would start, checked on every machine: the parts that nobody can choose
(BOX-02)."""

from __future__ import annotations

import csv
import io
import itertools
import json
import tarfile
from pathlib import Path

import pytest
from messages import SAYS
from rows import rows

from remit_server.sandbox.bubblewrap.bubblewrap_options import bubblewrap_options
from remit_server.sandbox.bubblewrap.seccomp import profile_filter, profile_json
from remit_server.sandbox.choose import candidates, choose_sandbox
from remit_server.sandbox.containers import container_argv as containers
from remit_server.sandbox.containers.container_argv import Container, ProgramName, create_argv, not_below
from remit_server.sandbox.containers.system_image import system_image
from remit_server.sandbox.limits.limits import MIB, TEMPLATES, TemplateName
from remit_server.sandbox.ports import CommandSpec, RuntimeName
from remit_server.sandbox.seatbelt.seatbelt import find_descendants, living_below, profile_text, quote, seatbelt_argv
from remit_server.sandbox.visible.toolchains import Places, ReadOnlyMount, folders_above

HERE = Path("/work space/a,b")
PYENV = ReadOnlyMount(
    Path("/home/me/.pyenv/versions"), Path("/real/versions"), (Path("/home/me/.pyenv/versions/3/pip.conf"),)
)
SPEC = CommandSpec(("make", "--", "x y"), HERE / "deep", HERE, {"PATH": "/usr/bin", "A": "b c"}, 60)


def container(program: ProgramName, **more: object) -> Container:
    given: dict[str, object] = {
        "program": program,
        "name": "remit-1",
        "image": "image:1",
        "owner": "1-2-3",
        "user": "1000:1000",
        "seccomp": Path("/files/standard.json"),
        "empty_folder": Path("/files/folder"),
        "empty_file": Path("/files/file"),
    }
    return Container(**{**given, **more})  # type: ignore[arg-type]


def options(argv: list[str], name: str) -> list[str]:
    return [value for option, value in itertools.pairwise(argv) if option == name]


def test_the_table_of_templates() -> None:
    """BOX-04: each kind of sandbox has its own limits."""
    table = {
        name: (t.network, t.memory // MIB, t.cpus, t.processes, t.seconds, t.seccomp) for name, t in TEMPLATES.items()
    }
    assert table == {
        "code-executor": ("none", 1024, 1.0, 100, 300, "standard"),
        "integration-test": ("restricted", 1024, 1.0, 100, 300, "standard"),
    }


@pytest.mark.parametrize("program", ["podman", "docker"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_what_is_fixed_in_every_container(program: ProgramName, template: TemplateName) -> None:
    argv = create_argv(container(program), SPEC, TEMPLATES[template])
    assert argv[:2] == [program, "create"]
    assert "--read-only" in argv
    assert options(argv, "--network") == ["none"]
    assert options(argv, "--cap-drop") == ["ALL"]
    assert options(argv, "--pull") == ["never"]
    assert options(argv, "--user") == ["1000:1000"]
    assert set(options(argv, "--security-opt")) >= {"no-new-privileges", "seccomp=/files/standard.json"}
    assert options(argv, "--memory") == options(argv, "--memory-swap") == [str(TEMPLATES[template].memory)]
    assert options(argv, "--pids-limit") == [str(TEMPLATES[template].limits.tasks)]
    assert options(argv, "--tmpfs")[0].startswith("/tmp:rw,exec,nosuid,nodev,size=")
    assert not {"--privileged", "--cap-add", "--device", "--pid", "--volume", "-v"} & set(argv)
    assert ".sock" not in " ".join(argv)


@pytest.mark.parametrize("program", ["podman", "docker"])
def test_the_command_its_environment_and_nothing_else_go_in(program: ProgramName) -> None:
    argv = create_argv(container(program), SPEC, TEMPLATES["code-executor"])
    assert argv[argv.index("image:1") :] == [
        *("image:1", "-i", "PATH=/usr/bin", "A=b c", "nice", "-n", "10", "make", "--", "x y")
    ]
    assert options(argv, "--entrypoint") == ["/usr/bin/env"]
    assert options(argv, "--workdir") == ["/work space/a,b/deep"]


def test_mounts_are_read_only_whatever_a_path_holds(tmp_path: Path) -> None:
    (tmp_path / 'hidden,"folder').mkdir()
    hidden = (tmp_path / 'hidden,"folder', tmp_path / "file")
    argv = create_argv(
        container("docker", shown=(Path("/usr"),), hidden=hidden, rootless=True), SPEC, TEMPLATES["code-executor"]
    )
    mounts = [next(csv.reader([mount])) for mount in options(argv, "--mount")]
    assert [mount[1:3] for mount in mounts] == [
        ["src=/usr", "dst=/usr"],
        [f"src={HERE}", f"dst={HERE}"],
        ["src=/files/folder", f"dst={hidden[0]}"],
        ["src=/files/file", f"dst={hidden[1]}"],
    ]
    assert all(mount[3:] == ["readonly=true", "bind-nonrecursive=true"] for mount in mounts)
    assert options(argv, "--userns") == ["keep-id"]


@pytest.mark.parametrize("program", ["podman", "docker"])
@pytest.mark.parametrize("place", [HERE, HERE / "build"])
def test_BOX_05_what_may_be_written_to_is_an_overlay_and_the_rest_is_read_only(
    program: ProgramName, place: Path
) -> None:
    layer = (place, Path("/layer"))
    mounted = create_argv(container(program, overlays=(layer,), mounted=True), SPEC, TEMPLATES["code-executor"])
    own = create_argv(container(program, overlays=(layer,)), SPEC, TEMPLATES["code-executor"])
    bind = ["type=bind", "src=/layer/merged", f"dst={place}", "bind-nonrecursive=true"]
    assert bind in [next(csv.reader([mount])) for mount in options(mounted, "--mount")]
    for argv in (mounted, own):
        mounts = [next(csv.reader([mount])) for mount in options(argv, "--mount")]
        assert [mount for mount in mounts if f"src={HERE}" in mount and "readonly=true" not in mount] == []
        assert [f"src={HERE}" in mount for mount in mounts].count(True) == (place != HERE)
    if program == "podman":
        (volume,) = options(own, "--volume")
        assert volume == f"/layer/lower:{place}:O,upperdir=/layer/upper,workdir=/layer/work"
    else:
        all_mounts = [next(csv.reader([mount])) for mount in options(own, "--mount")]
        (volume,) = [mount for mount in all_mounts if "type=volume" in mount]
        parts = "lowerdir=/layer/lower,upperdir=/layer/upper,workdir=/layer/work"
        assert {f"dst={place}", "volume-nocopy=true", f"volume-opt=o={parts},userxattr,nosuid,nodev"} <= {*volume}


@rows(
    ("version", "option"),
    [
        ("Docker version 20.10.24+dfsg1, build 297e128", "bind-nonrecursive=true"),
        ("Docker version 24.0.9, build 2936816", "bind-nonrecursive=true"),
        ("Docker version 25.0.0, build e758fe5", "bind-recursive=disabled"),
        ("Docker version 28.2.2, build e6534b4", "bind-recursive=disabled"),
        ("podman version 5.2.3", "bind-nonrecursive=true"),
        ("", "bind-nonrecursive=true"),
    ],
)
def test_a_client_is_told_in_its_own_words_what_not_to_mount(version: str, option: str) -> None:
    argv = create_argv(container("docker", not_below=not_below(version)), SPEC, TEMPLATES["code-executor"])
    mounts = [next(csv.reader([mount])) for mount in options(argv, "--mount")]
    assert mounts
    assert all(mount[3:] == ["readonly=true", option] for mount in mounts)


def test_toolchains_are_read_only_and_what_is_private_in_them_is_covered() -> None:
    argv = create_argv(container("podman", toolchains=(PYENV,)), SPEC, TEMPLATES["code-executor"])
    mounts = [next(csv.reader([mount])) for mount in options(argv, "--mount")]
    assert [mount[1:3] for mount in mounts] == [
        ["src=/real/versions", "dst=/home/me/.pyenv/versions"],
        ["src=/files/file", "dst=/home/me/.pyenv/versions/3/pip.conf"],
        [f"src={HERE}", f"dst={HERE}"],
    ]
    assert all("readonly=true" in mount for mount in mounts)


def test_the_folders_above_toolchains_cannot_be_listed_in_the_image() -> None:
    passed = folders_above(Places(Path("/home/me"), ()))
    assert {Path("/home"), Path("/home/me"), Path("/home/me/.local/share")} <= set(passed)
    _, image = system_image((), (*passed, Path("/tmp/x"), Path("/usr/x"), Path("/etc")))
    with tarfile.open(fileobj=io.BytesIO(image)) as tar:
        modes = {f"/{entry.name}": entry.mode for entry in tar.getmembers()}
    assert {modes[str(path)] for path in passed} == {0o111}
    assert modes["/etc"] == 0o755
    assert not {"/tmp/x", "/usr/x"} & set(modes)


def test_bubblewrap_reads_toolchains_in_folders_that_cannot_be_listed() -> None:
    argv = bubblewrap_options(SPEC, TEMPLATES["code-executor"].limits, etc=(), shown=(PYENV,))
    text = " ".join(argv)
    places = ("/home", "/home/me", "/home/me/.pyenv")
    made = " ".join(f"--perms 0111 --dir {folder}" for folder in places)
    mounted = (
        "--ro-bind /real/versions /home/me/.pyenv/versions --ro-bind /dev/null /home/me/.pyenv/versions/3/pip.conf"
    )
    assert f"{made} {mounted} --ro-bind {HERE} {HERE}" in text


def test_the_other_calls() -> None:
    assert containers.remove_argv("podman", ["a", "b"]) == [
        *("podman", "rm", "--force", "--volumes", "--time", "0", "a", "b")
    ]
    assert containers.remove_argv("docker", ["a"]) == ["docker", "rm", "--force", "--volumes", "a"]
    assert containers.list_argv("docker")[3:5] == ["--filter", "label=remit.server"]


def test_the_image_changes_its_name_with_its_content(tmp_path: Path) -> None:
    (tmp_path / "lib").symlink_to("usr/lib")
    first, again, other = system_image(()), system_image(()), system_image((str(tmp_path / "lib"),))
    assert first == again
    assert other[0] != first[0]


@pytest.mark.parametrize("profile", ["strict", "standard", "standard-unix"])
def test_seccomp_is_the_same_list_for_containers(profile: str) -> None:
    """The conformance suite tests that the kernel accepts the BPF, and the container runtime the JSON."""
    written = json.loads(profile_json(profile))  # type: ignore[arg-type]
    refused = {name for rule in written["syscalls"] if "args" not in rule for name in rule["names"]}
    assert written["defaultAction"] == "SCMP_ACT_ALLOW"
    assert {"ptrace", "mount", "unshare", "bpf", "keyctl", "io_uring_setup"} <= refused
    assert ("connect" in refused) == (profile == "strict")
    assert ("fork" in refused) == (profile == "strict")
    assert len(profile_filter(profile)) > 500  # type: ignore[arg-type]


def test_the_profile_of_seatbelt_denies_what_it_does_not_name() -> None:
    text = profile_text(SPEC, Path("/scratch"), [(HERE / 'odd"name', False), (HERE / "folder", True)])
    assert text.startswith("(version 1)\n(deny default)\n")
    assert text.rstrip().endswith("(deny network*)")
    writes = [line for line in text.splitlines() if line.startswith("(allow") and "file-write" in line]
    assert writes == [
        '(allow file-read* file-write* (subpath "/scratch"))',
        SAYS.allow_file_write_literal_dev,
    ]
    assert '(deny file-read* file-write* (literal "/work space/a,b/odd\\"name"))' in text
    assert '(deny file-read* file-write* (subpath "/work space/a,b/folder"))' in text
    assert "process-fork" in text
    assert quote('a\\"b') == '"a\\\\\\"b"'


def test_seatbelt_reads_toolchains_where_they_really_are() -> None:
    text = profile_text(SPEC, Path("/scratch"), shown=(PYENV,))
    reads = text.index('(allow file-read* (subpath "/real/versions"))')
    assert reads < text.index('(deny file-read* (subpath "/real/versions/3/pip.conf"))')
    (passed,) = [line for line in text.splitlines() if "file-read-metadata" in line and ".pyenv" in line]
    assert '(literal "/home/me")' in passed
    assert "subpath" not in passed
    assert '"/home/me' not in text.replace(passed, "")


def test_the_command_line_of_seatbelt() -> None:
    argv = seatbelt_argv(SPEC, "(version 1)", TEMPLATES["code-executor"].limits, Path("/scratch"))
    assert argv[3:6] == ["/usr/bin/sandbox-exec", "-p", "(version 1)"]
    inside = ["/usr/bin/env", "-i", "PATH=/usr/bin", "A=b c", "HOME=/scratch", "TMPDIR=/scratch"]
    assert argv[6:12] == inside
    assert argv[-4:] == ["/work space/a,b/deep", "make", "--", "x y"]


def test_what_seatbelt_has_to_end() -> None:
    listed = "1 0 1 S\n10 1 10 S\n11 10 10 S\n12 11 12 S\n13 1 12 S\n14 1 14 S\n15 10 10 Z+\n"
    assert find_descendants(listed, {10}) == {10, 11, 12, 13, 15}
    assert living_below(listed, {10, 99}) == {10, 11, 12, 13}


@rows(
    ("platform", "programs", "tried"),
    [
        ("linux", {"bwrap", "podman", "docker"}, ("bubblewrap", "podman", "docker", "landlock")),
        ("linux", {"podman", "docker"}, ("podman", "docker", "landlock")),
        ("linux", set(), ("landlock",)),
        ("darwin", {"sandbox-exec", "docker"}, ("seatbelt", "docker")),
        ("darwin", set(), ("seatbelt",)),
        ("win32", {"docker"}, ("docker",)),
        ("win32", set(), ("podman",)),
    ],
)
def test_BOX_12_which_are_tried_and_in_which_order(
    platform: str, programs: set[str], tried: tuple[RuntimeName, ...]
) -> None:
    assert candidates(platform, programs.__contains__) == tried


@pytest.mark.parametrize("name", ["none", "bublewrap"])
def test_a_person_may_choose_and_a_wrong_choice_runs_nothing(name: str) -> None:
    isolation = choose_sandbox(environment={"REMIT_SANDBOX": name}).isolation()
    assert (isolation.name, isolation.available) == ("none", False)
    assert name in isolation.why
    assert choose_sandbox(environment={"REMIT_SANDBOX": "bubblewrap", "PATH": ""}).isolation().name == "bubblewrap"
