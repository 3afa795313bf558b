"""Generates spellings of denied commands: the words that a program gets, and shell lines that give these words.

Each denial is a small grammar. A negative is a call that lacks one part of what is denied.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Denial:
    """A rule and the ways to write what it denies.

    Options of `before` stand between the program and `words`, options of `noise` anywhere after `words`; each is one or
    more words. One alternative of each of `options` is needed. Each of `words` may have spellings, separated by `|`. In
    a negative, one of `others` replaces the first of `words`, and one of `decoys` may stand before it. `anywhere` is
    set if `words` are no subcommand, so that they may stand at any place.
    """

    rule: str
    programs: tuple[str, ...]
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    before: str = ""
    noise: str = ""
    operands: str = ""
    others: str = ""
    decoys: str = ""
    permutes: bool = True
    anywhere: bool = False


_GIT = (
    "-C .,--git-dir .git,--git-dir=.git,--work-tree .,--no-pager,-p,--namespace=x,-c a.b=c,--bare,--exec-path=.,"
    "--config-env=a.b=c"
)
_GIT_DECOYS = "-C push,--git-dir push,-c push=reset,--work-tree=push"

DENIALS = (
    Denial(
        "rm -rf",
        ("rm",),
        options=("-r|-R|--recursive|--rec|--r", "-f|--force|--forc|--f"),
        noise="-v,-i,-d,--one-file-system,--verbose,--interactive=never",
        operands="x,zz,./d,x/",
    ),
    Denial("git push", ("git",), ("push",), (), _GIT, "-q,--tags,-o ci,-u,--atomic,-n,--push-option=x", "origin,main,x", "pull,log,status,fetch", _GIT_DECOYS),
    Denial("git reset --hard", ("git",), ("reset",), ("--hard|--har",), _GIT, "-q,--quiet", "HEAD,x", "restore,log", _GIT_DECOYS),
    Denial("git branch -D", ("git",), ("branch",), ("-D|-d -f|--delete --force|-df|-d --forc",), _GIT, "-q,-v,-r", "x,zz", "log,tag", _GIT_DECOYS),
    Denial("git commit --no-verify", ("git",), ("commit",), ("-n|--no-verify|--no-veri",), _GIT, "-q,-a,-m x,--message=push,--amend,-s,-F x", "", "log,status", _GIT_DECOYS),
    Denial("git clean -fdx", ("git",), ("clean",), ("-f|--force|--for", "-d", "-x"), _GIT, "-q,-e x,--exclude=x", "x,zz", "log,status", _GIT_DECOYS),
    Denial(
        "npm publish",
        ("npm",),
        ("publish|publis|publi|publ",),
        (),
        "--silent,-s,--prefix .,-C .,-w x,--loglevel error,--registry=http://x,--yes,-q",
        "--tag x,--access=public,--otp 1,--dry-run",
        "x",
        "run,test,install,pack",
        "--tag publish,--prefix publish,-w publish",
    ),
    Denial("cargo publish", ("cargo",), ("publish",), (), "--color always,-q,--config a.b=1,-Z x,--locked", "--dry-run,-p x,--token y,--allow-dirty,-j 4", "", "build,test,check", "--color publish,-p publish"),
    Denial("pip install", ("pip", "pip3", "python3 -m pip", "python3 -Im pip", "python3 -u -mpip"), ("install",), (), "-q,--proxy x,--isolated,--timeout 5,--log=x,--cert x", "-U,--user,-r x,-t zz,--no-deps,-i http://x", "x,zz", "list,show,freeze", "--proxy install,--log install"),
    Denial("twine upload", ("twine",), ("upload",), (), "", "-r x,--skip-existing,--repository-url=http://x,-u me,--verbose", "x,zz", "check", ""),
    Denial("docker push", ("docker",), ("push|image push",), (), "--config .,-D,-H x,--context=y,--log-level info,-l info", "", "x,zz", "pull,images,ps", "--config push,-H push,--context push"),
    Denial("docker run --privileged", ("docker",), ("run|container run",), ("--privileged",), "--config .,-D,-H x", "-e A=B,-v /a:/b,--rm,-it,--name x,-w /x,--network=host", "img", "pull,ps", "--config run", permutes=False),
    Denial("kubectl delete", ("kubectl",), ("delete",), (), "-n x,--context y,--kubeconfig=z,-v 4,--user me", "--now,--force,-l a=b,--grace-period=0,-A,--all", "pod,x", "get,describe,logs", "-n delete,--context delete"),
    Denial("gh pr merge", ("gh",), ("pr", "merge"), (), "-R a/b,--repo=a/b", "-s,-d,--admin,--auto,-t x,--body=y", "1", "issue,repo,release", "-R pr"),
    Denial("systemctl stop", ("systemctl",), ("stop",), (), "-q,--user,-H x,-M y,--no-block,--root=/x", "--now,-f,--no-pager", "x,zz", "status,show,start", "-H stop,-M stop"),
    Denial("terraform destroy", ("terraform",), ("destroy",), (), "-chdir=x,-chdir=.", "-auto-approve,-target=x,-var=a=b,-lock=false", "", "plan,apply,show", ""),
    Denial("curl -o", ("curl",), (), ("-o x|--output x|--output=x|-ox|--outp x",), "", "-s,-S,-f,-L,-H a:b,-X GET,--silent,-k,-m 5", "http://x,zz"),
    Denial("chmod -R 777", ("chmod",), ("777|0777|a=rwx|ugo=rwx|a+rwx",), ("-R|--recursive|--rec",), "", "-v,-c,--quiet", "", "644,755,u+x", anywhere=True),
    Denial("pkill -9", ("pkill",), (), ("-9|-KILL|-SIGKILL|--signal 9|--signal=KILL|--signal SIGKILL",), "", "-f,-e,-x", "zz"),
    Denial("dd of=disk", ("dd",), (), ("of=disk|of=./disk",), "", "if=x,bs=1,count=1,conv=notrunc,status=none", ""),
    Denial("tar -x", ("tar",), (), ("-x|--extract|--get|--extr",), "", "-v,-z,-f a,-C x,--exclude=y,--strip-components=1", "zz"),
    Denial("rsync --delete", ("rsync",), (), ("--delete|--delet",), "", "-a,-v,-z,-n,--exclude=x,-e ssh", "x,zz"),
    Denial("make deploy", ("make",), ("deploy",), (), "-j 4,-C x,-s,-k,-f x,--directory=x", "-s,-n", "", "build,test", "-C deploy,-f deploy", anywhere=True),
    Denial("mytool push", ("mytool",), ("push",), (), "-v,--verbose,--config=x", "-v", "x", "pull,status", ""),
)  # fmt: skip
"""Every rule that the tests deny."""


def _choice(random: Random, text: str, separator: str = "|") -> list[str]:
    return random.choice(text.split(separator)).split(" ")


def _some(random: Random, text: str, most: int) -> list[list[str]]:
    all_of = [each.split(" ") for each in text.split(",") if each]
    return random.sample(all_of, random.randint(0, min(most, len(all_of))))


def call(random: Random, denial: Denial, *, does: bool) -> list[str]:
    """Returns the words of one call that does what is denied, or that lacks a part of it."""
    needed = [_choice(random, option) for option in denial.options]
    words = [_choice(random, word) for word in denial.words]
    before, behind = _some(random, denial.before, 2), list[str]()
    if not does:
        if needed and (not denial.others or random.random() < 0.5):
            left_out = needed.pop(random.randrange(len(needed)))
            behind = ["--", *left_out] if denial.permutes and random.random() < 0.3 else []
        elif denial.others:
            words[0] = [random.choice(denial.others.split(","))]
            if denial.decoys and random.random() < 0.5:
                before.append(random.choice(denial.decoys.split(",")).split(" "))
    options = [*needed, *_some(random, denial.noise, 3)]
    random.shuffle(options)
    options = _bundled(random, options)
    operands = _some(random, denial.operands, 2) or [[each] for each in denial.operands.split(",")[:1] if each]
    head = [*random.choice(denial.programs).split(" "), *(word for group in before for word in group)]
    if not denial.permutes or random.random() < 0.5:
        tail = [*options, *([["--"]] if operands and denial.permutes and random.random() < 0.4 else []), *operands]
    else:
        tail = [*operands, *options]
        random.shuffle(tail)
    at = random.randint(0, len(tail)) if denial.anywhere and ["--"] not in tail and operands != tail[:1] else 0
    return [*head, *(word for group in [*tail[:at], *words, *tail[at:], behind] for word in group)]


def jumble(random: Random, denial: Denial) -> list[str]:
    """Returns words of this grammar in any order, whatever they then do."""
    groups = [option.split(" ") for option in f"{denial.before},{denial.noise},{denial.decoys}".split(",") if option]
    groups += [_choice(random, each) for each in (*denial.options, *denial.words) for _ in range(2)]
    groups += [[each] for each in f"{denial.operands},{denial.others},--,-".split(",") if each]
    some = random.sample(groups, random.randint(1, min(7, len(groups))))
    if random.random() < 0.5:
        some = [*(each.split(" ") for each in denial.words if "|" not in each), *some]
    return [*random.choice(denial.programs).split(" "), *(word for group in _bundled(random, some) for word in group)]


def _bundled(random: Random, options: list[list[str]]) -> list[list[str]]:
    """Returns the options, in some cases with the single letters joined to one word."""
    letters = [each for each in options if len(each) == 1 and len(each[0]) == 2 and each[0][1].isalpha()]
    if len(letters) < 2 or random.random() < 0.4:
        return options
    rest = [each for each in options if each not in letters]
    rest.insert(random.randint(0, len(rest)), ["-" + "".join(each[0][1] for each in letters)])
    return rest


Spell = Callable[[Random, str], str]


def _escaped(random: Random, word: str) -> str:
    if not word:
        return "''"
    at = random.randrange(len(word))
    return shlex.quote(word[:at]).replace("''", "") + "\\" + word[at] + shlex.quote(word[at + 1 :]).replace("''", "")


def _split(random: Random, word: str) -> str:
    at = random.randint(0, len(word))
    quotes = random.choice(["''", '""', "'{}'", '"{}"'])
    return (
        f"{shlex.quote(word[:at])}{quotes.format(word[at:])}" if "{}" in quotes else f"{word[:at]}{quotes}{word[at:]}"
    )


_QUOTES: tuple[tuple[int, Spell], ...] = (
    (12, lambda _, word: shlex.quote(word)),
    (2, lambda _, word: f"'{word}'"),
    (2, lambda _, word: f'"{word}"'),
    (2, _escaped),
    (2, _split),
    (1, lambda _, word: f"$(printf %s {shlex.quote(word)})"),
    (1, lambda _, word: f"`printf %s {shlex.quote(word)}`"),
)
"""The ways to write a word, each with its weight."""


def line_of(random: Random, words: list[str], folder: str) -> str:
    """Returns a command line that runs these words, with other shell syntax around them."""
    plain = random.random() < 0.5
    spells = [spell for often, spell in _QUOTES for _ in range(often)]
    written = [shlex.quote(word) if plain else random.choice(spells)(random, word) for word in words]
    if random.random() < 0.15:
        written[0] = f"{folder}/{words[0]}"
    if random.random() < 0.05:
        at = random.randrange(len(words))
        written[at] = '"$v"'
        return f"v={shlex.quote(words[at])}; {' '.join(written)}"
    line = " ".join(written)
    if random.random() < 0.08:
        at = random.randint(1, len(written))
        line = " ".join(written[:at]) + " \\\n " + " ".join(written[at:])
    for _ in range(random.choice([0, 0, 1, 1, 1, 2])):
        line = random.choice(_AROUND)(random, line)
    return line


def _script(shell: str) -> Spell:
    return lambda _, line: f"{shell} -c {shlex.quote(line)}"


def _simple_only(wrapper: str) -> Spell:
    """Returns how to spell a wrapper that runs a program; a line that is not a simple command becomes a script."""
    return lambda random, line: wrapper.format(line if _is_simple(line) else f"sh -c {shlex.quote(line)}")


def _is_simple(line: str) -> bool:
    signs = set("&|;<>(){}\n#=`$!")
    return signs.isdisjoint(line) and not line.startswith(("if ", "for ", "while ", "case ", "time ", "v="))


_AROUND: tuple[Spell, ...] = (
    _simple_only("env {}"),
    _simple_only("env A=b {}"),
    _simple_only('env -i PATH="$PATH" {}'),
    _simple_only("env -u A -- {}"),
    _simple_only("nice {}"),
    _simple_only("nice -n 5 {}"),
    _simple_only("nice -5 {}"),
    _simple_only("timeout 5 {}"),
    _simple_only("timeout -k 1 -s TERM 5 {}"),
    _simple_only("nohup {}"),
    _simple_only("command {}"),
    _simple_only('command -p env PATH="$PATH" {}'),
    _simple_only("setsid -w {}"),
    _simple_only("stdbuf -oL {}"),
    _simple_only("exec {}"),
    _simple_only("A=b {}"),
    _simple_only("echo | xargs {}"),
    _simple_only("echo zz | xargs -n 1 {}"),
    _simple_only("find . -maxdepth 0 -exec {} ';'"),
    _simple_only("find . -maxdepth 0 -exec {} \\;"),
    _simple_only("find x -prune -exec {} {{}} +"),
    _script("sh"),
    _script("bash"),
    _script("bash --norc -e"),
    lambda _, line: f"eval {shlex.quote(line)}",
    lambda _, line: f"({line})",
    lambda _, line: f"{{ {line}\n}}",
    lambda _, line: f"true | {line}",
    lambda _, line: f"{line} | cat",
    lambda _, line: f"true && {line}",
    lambda _, line: f"false || {line}",
    lambda _, line: f"true; {line}",
    lambda _, line: f"! {line}",
    lambda _, line: f"if true; then {line}\nfi",
    lambda _, line: f"for i in 1; do {line}\ndone",
    lambda _, line: f"while true; do {line}\nbreak; done",
    lambda _, line: f"case a in a) {line}\nesac",
    lambda _, line: f"f() {{ {line}\n}}; f",
    lambda _, line: f"cd x; {line}",
    lambda _, line: f"{line} >/dev/null 2>&1",
    lambda _, line: f">o {line}",
    lambda _, line: f"{line} <<E\nhello\nE\n",
    lambda _, line: f"sh <<'E'\n{line}\nE\n",
    lambda _, line: f"printf %s {shlex.quote(line)} | sh",
    lambda _, line: f"{line} # no harm",
    lambda _, line: f"# a comment\n{line}",
    lambda _, line: f"echo $({line})",
    lambda _, line: f"{line} & wait",
)  # fmt: skip
