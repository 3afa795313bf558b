"""Tells what a program was asked to do by its recorded words: a second matcher, with Python's getopt and nothing of
Remit.

A call whose options its program would refuse does nothing that is denied.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from getopt import GetoptError, getopt, gnu_getopt

Words = list[str]
Given = dict[str, list[str]]

GIT = "C:c:pPvh", "git-dir= work-tree= namespace= exec-path= config-env= no-pager paginate bare no-replace-objects"
GIT_SUBCOMMANDS = {
    "push": ("vqdnfu46o:", "force tags all mirror delete dry-run quiet verbose push-option= atomic set-upstream repo="),
    "reset": ("qpN", "hard soft mixed merge keep quiet patch"),
    "branch": ("vqrau:dDmMcCf", "delete force move copy quiet verbose all list remotes contains= sort="),
    "commit": ("qvF:m:c:C:st:eaipo nz".replace(" ", ""), "no-verify message= all amend quiet author= file= signoff"),
    "clean": ("qnfidxXe:", "force quiet dry-run exclude="),
}
NPM = "C:w:sqdgfyDSP", "prefix= workspace= silent tag= access= otp= registry= loglevel= dry-run ignore-scripts yes"
CARGO = "qvp:Z:j:nF:", "color= config= manifest-path= package= registry= token= dry-run allow-dirty quiet locked jobs="
PIP = (
    "qvr:c:e:t:Ui:f:",
    "quiet isolated proxy= timeout= requirement= target= index-url= upgrade user no-deps cert= log=",
)
TWINE = (
    "r:u:p:sc:",
    "repository= username= password= skip-existing verbose non-interactive config-file= repository-url=",
)
DOCKER = "c:DH:l:v", "config= context= debug host= log-level= tls"
DOCKER_RUN = (
    "e:v:p:w:u:itdm:",
    "env= volume= publish= workdir= user= interactive tty detach rm name= privileged network=",
)
KUBECTL = (
    "n:f:l:o:s:v:A",
    "namespace= filename= selector= output= context= kubeconfig= force now grace-period= all user=",
)
GH = "R:t:b:mdsr", "repo= title= body= squash merge rebase delete-branch admin auto"
SYSTEMCTL = "qfan:p:t:H:M:", "quiet force now no-block user system signal= type= host= root= no-pager"
TERRAFORM = ("target=", "var=", "auto-approve", "lock=", "input=", "destroy", "state=")
TAR = "cxtzjJvf:C:pkO", "extract get create list file= directory= gzip verbose exclude= strip-components="
RSYNC = "avzrnqe:P", "archive delete exclude= recursive dry-run verbose rsh= compress bwlimit="


def deeds(call: Words) -> Iterator[str]:
    """Yields the rules that deny this call."""
    program, arguments = posixpath.basename(call[0]), call[1:]
    try:
        yield from _PROGRAMS[program](arguments)
    except GetoptError:
        return


def _read(words: Words, grammar: tuple[str, str], *, permute: bool = True) -> tuple[Given, Words]:
    found, rest = (gnu_getopt if permute else getopt)(words, grammar[0], grammar[1].split())
    given: Given = {}
    for name, value in found:
        given.setdefault(name, []).append(value)
    return given, rest


def _simple(
    rule: str, short: str, long: str, holds: Callable[[Given, Words], bool]
) -> Callable[[Words], Iterator[str]]:
    def does(words: Words) -> Iterator[str]:
        given, rest = _read(words, (short, long))
        if holds(given, rest):
            yield rule

    return does


def _subcommand(rule: str, grammar: tuple[str, str], *names: str) -> Callable[[Words], Iterator[str]]:
    """Matches a subcommand with these `names`, one for each level. The program's options may stand anywhere."""

    def does(words: Words) -> Iterator[str]:
        _, rest = _read(words, grammar)
        if rest[: len(names)] == list(names):
            yield rule

    return does


def _git(words: Words) -> Iterator[str]:
    _, rest = _read(words, GIT, permute=False)
    if not rest or rest[0] not in GIT_SUBCOMMANDS:
        return
    given, _ = _read(rest[1:], GIT_SUBCOMMANDS[rest[0]])
    deleted = not {"-d", "--delete"}.isdisjoint(given) and not {"-f", "--force"}.isdisjoint(given)
    done = {
        "push": True,
        "reset": "--hard" in given,
        "branch": "-D" in given or deleted,
        "commit": "-n" in given or "--no-verify" in given,
        "clean": "-x" in given and "-d" in given and ("-f" in given or "--force" in given),
    }
    denials = {"branch": "branch -D", "reset": "reset --hard", "commit": "commit --no-verify", "clean": "clean -fdx"}
    if done[rest[0]]:
        yield f"git {denials.get(rest[0], rest[0])}"


def _npm(words: Words) -> Iterator[str]:
    _, rest = _read(words, NPM)
    if rest and len(rest[0]) > 3 and "publish".startswith(rest[0]):
        yield "npm publish"


def _docker(words: Words) -> Iterator[str]:
    _, rest = _read(words, DOCKER, permute=False)
    rest = rest[1:] if rest[:1] in (["image"], ["container"]) else rest
    if rest[:1] == ["push"]:
        yield "docker push"
    if rest[:1] == ["run"] and "--privileged" in _read(rest[1:], DOCKER_RUN, permute=False)[0]:
        yield "docker run --privileged"


def _python(words: Words) -> Iterator[str]:
    for at, word in enumerate(words):
        if word.startswith("-") and "m" in word:
            module = [word.partition("m")[2], *words[at + 1 :]] if not word.endswith("m") else words[at + 1 :]
            if module[:1] == ["pip"]:
                yield from _PROGRAMS["pip"](module[1:])
            return


def _terraform(words: Words) -> Iterator[str]:
    rest = [word for word in words if not word.startswith("-")]
    if rest[:1] == ["destroy"]:
        yield "terraform destroy"


def _curl(words: Words) -> Iterator[str]:
    given, _ = _read(words, ("sSfLkvo:X:H:d:A:u:OIm:", "silent output= request= header= data= location fail url="))
    if "-o" in given or "--output" in given:
        yield "curl -o"


def _chmod(words: Words) -> Iterator[str]:
    given, rest = _read(words, ("Rvcf", "recursive verbose changes quiet silent reference="))
    if rest and rest[0] in {"777", "0777", "a=rwx", "ugo=rwx", "a+rwx"} and {"-R", "--recursive"} & given.keys():
        yield "chmod -R 777"


def _pkill(words: Words) -> Iterator[str]:
    if any(word in {"-9", "-KILL", "-SIGKILL"} for word in words):
        yield "pkill -9"
    elif "--signal" in (given := _read(words, ("efxu:", "signal= full exact euid="))[0]):
        yield from ["pkill -9"] if given["--signal"][0] in {"9", "KILL", "SIGKILL"} else []


def _dd(words: Words) -> Iterator[str]:
    if any(posixpath.normpath(word[3:]) == "disk" for word in words if word.startswith("of=")):
        yield "dd of=disk"


def _tar(words: Words) -> Iterator[str]:
    old = words[:1] and not words[0].startswith("-")
    given, _ = _read([f"-{words[0].replace('f', '')}", *words[1:]] if old else words, TAR)
    if not {"-x", "--extract", "--get"}.isdisjoint(given):
        yield "tar -x"


def _make(words: Words) -> Iterator[str]:
    if "deploy" in _read(words, ("j:C:f:ksn", "directory= file= jobs= silent keep-going"))[1]:
        yield "make deploy"


def _mytool(words: Words) -> Iterator[str]:
    if "push" in _read(words, ("v", "verbose config="))[1][:1]:
        yield "mytool push"


_PROGRAMS: dict[str, Callable[[Words], Iterator[str]]] = {
    "rm": _simple(
        "rm -rf",
        "rRfivdI",
        "recursive force interactive= one-file-system verbose dir no-preserve-root",
        lambda given, _: bool({"-r", "-R", "--recursive"} & given.keys() and {"-f", "--force"} & given.keys()),
    ),
    "rsync": _simple("rsync --delete", *RSYNC, lambda given, _: "--delete" in given),
    "git": _git,
    "npm": _npm,
    "cargo": _subcommand("cargo publish", CARGO, "publish"),
    "pip": _subcommand("pip install", PIP, "install"),
    "pip3": _subcommand("pip install", PIP, "install"),
    "python3": _python,
    "twine": _subcommand("twine upload", TWINE, "upload"),
    "docker": _docker,
    "kubectl": _subcommand("kubectl delete", KUBECTL, "delete"),
    "gh": _subcommand("gh pr merge", GH, "pr", "merge"),
    "systemctl": _subcommand("systemctl stop", SYSTEMCTL, "stop"),
    "terraform": _terraform,
    "curl": _curl,
    "chmod": _chmod,
    "pkill": _pkill,
    "dd": _dd,
    "tar": _tar,
    "make": _make,
    "mytool": _mytool,
}
PROGRAMS = tuple(_PROGRAMS)
