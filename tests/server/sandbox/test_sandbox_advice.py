"""What a person without a sandbox is told: first, what is best for this machine (BOX-02)."""

from __future__ import annotations

import re

import pytest
from messages import SAYS

from remit_server.sandbox.advice import (
    APPARMOR,
    CLONE,
    MOST,
    Machine,
    distribution_ids,
    missing_advice,
    namespaces_advice,
    sandbox_advice,
)

pytestmark = pytest.mark.slow

SYSTEMS = [
    ("ID=debian\n", "`apt install bubblewrap`", "`apt install libseccomp2`"),
    ('ID=ubuntu\nID_LIKE="debian"\n', "`apt install bubblewrap`", "`apt install libseccomp2`"),
    ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "`apt install bubblewrap`", "`apt install libseccomp2`"),
    ("ID=fedora\n", "`dnf install bubblewrap`", "`dnf install libseccomp`"),
    ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "`dnf install bubblewrap`", "`dnf install libseccomp`"),
    ("ID=arch\n", "`pacman -S bubblewrap`", "`pacman -S libseccomp`"),
    ("ID=manjaro\nID_LIKE=arch\n", "`pacman -S bubblewrap`", "`pacman -S libseccomp`"),
    ("ID=alpine\n", "`apk add bubblewrap`", "`apk add libseccomp`"),
    (
        'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
        "`zypper install bubblewrap`",
        "`zypper install libseccomp2`",
    ),
    ("ID=gentoo\n", "`emerge sys-apps/bubblewrap`", "`emerge sys-libs/libseccomp`"),
    ('ID="new\nNAME', "with this system's package manager", "with this system's package manager"),
    ("", "with this system's package manager", "with this system's package manager"),
]


@pytest.mark.parametrize(("os_release", "bubblewrap", "seccomp"), SYSTEMS)
def test_the_best_sandbox_is_named_with_this_system_s_own_command(
    os_release: str, bubblewrap: str, seccomp: str
) -> None:
    machine = Machine("linux", distribution_ids(os_release))
    assert sandbox_advice(machine).startswith("install bubblewrap")
    assert bubblewrap in sandbox_advice(machine)
    assert seccomp in missing_advice(machine, "libseccomp")


def test_other_systems_are_told_of_what_they_have() -> None:
    assert SAYS.sandbox_exec_which_comes_with in sandbox_advice(Machine("darwin"))
    assert sandbox_advice(Machine("freebsd14")).startswith("install Podman or Docker")


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (
            {APPARMOR: "1", CLONE: "1", MOST: "1000"},
            f"AppArmor forbids user namespaces here.*`sudo sysctl -w {APPARMOR}=0`",
        ),
        ({APPARMOR: "0", CLONE: "0"}, f"{CLONE}=0 forbids user namespaces: `sudo sysctl -w {CLONE}=1`"),
        ({MOST: "0"}, f"{MOST}=0 forbids user namespaces"),
        ({APPARMOR: "0", CLONE: "1", MOST: "7"}, "the container around Remit does"),
        ({}, "the container around Remit does"),
    ],
)
def test_what_forbids_namespaces_is_named(settings: dict[str, str], advice: str) -> None:
    assert re.search(advice, namespaces_advice(Machine("linux", settings=settings)))
