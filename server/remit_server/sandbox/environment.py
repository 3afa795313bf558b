"""The environment a command sees: named variables only, nothing of the server's secrets (003 §Container Manager)."""

from __future__ import annotations

from collections.abc import Mapping

SCRATCH = "/tmp"  # noqa: S108  inside the sandbox this is a fresh folder of its own
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")

_PASSED = ("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ")
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for a command, from the server's own: language and time zone, a PATH that exists inside, no colours."""
    passed = {name: environ[name] for name in _PASSED if name in environ}
    path = [entry for entry in environ.get("PATH", "").split(":") if _inside(entry)]
    return {
        **passed,
        "PATH": ":".join(path) or _DEFAULT_PATH,
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        "USER": "remit",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _inside(folder: str) -> bool:
    """Whether a folder of PATH is one of the system's. Others are not there inside."""
    return ".." not in folder.split("/") and any(
        folder == system or folder.startswith(system + "/") for system in SYSTEM_FOLDERS
    )
