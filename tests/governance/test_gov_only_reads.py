"""CMD-05, CMD-09: lines that look as if they only read, and do more by an option, an operand or a file of the project.

A hook lets a line pass without a question if its risk is `low`, so none of these may be.
"""

from __future__ import annotations

from rows import rows

from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.shell.catalogue.files import packaged, packaged_names
from remit_governance.values import Action

MODULES = [
    *("python3 -m pip list", "python3 -m json.tool a.json", "python3 -m dis a.py", "python3 -m tokenize a.py"),
    *("python3 -m zipfile -l a.zip", "python3 -m tarfile -l a.tar", "python3 -m site", "python3 -m pip show x"),
    *("python3 -m platform", "python3 -s -m json.tool a.json", "python3 -E -m calendar", "python -B -m ast a.py"),
    *("PYTHONPATH=. python3 -P -m json.tool a.json", "python setup.py --version", "python -m coverage report"),
    *("python3 -I -m json.tool a.json b.json", "python3 -I -m json.tool --indent 4 a.json b.json"),
    *("python3 -I -m sysconfig --generate-posix-vars", "python3 -m json.tool a.json .git/hooks/x"),
]
OF_THE_PROJECT = [
    *("rails routes", "bundle list", "flask routes", "alembic history", "mix app.tree", "fastlane lanes", "rake -T"),
    *("swift package describe", "bazel query //...", "helmfile list", "serverless print", "lerna ls", "invoke -l"),
    *(
        "conan inspect .",
        "mill show x",
        "nimble dump",
        "dune describe",
        "hatch version",
        "cargo tree",
        "cargo metadata",
    ),
    *("ansible-inventory --list", "ansible-playbook --list-tasks x", "ansible-doc copy", "vagrant status"),
    *("packer validate x", "ansible-config dump", "brew info ./x.rb", "brew info a/b/c", "brew cat x/y"),
    *("terraform validate", "just --evaluate", "just --choose", "uv tree", "uv export"),
]
STARTED = [
    *("pip --python ./evil.sh list", "uv pip list --python ./evil.sh", "uv python find ./evil.sh"),
    *("uv tree --python ./evil.sh", "java -javaagent:x.jar -version", "java -version -javaagent:x.jar"),
    *("javap -J-javaagent:x.jar A", "jps -J-javaagent:x.jar", "javac -J-javaagent:x.jar -version"),
    *("jstat -J-javaagent:x.jar -gc 1", "docker --config ./dc info", "podman --runtime ./evil.sh info"),
    *("podman --conmon ./x info", "podman --module x info", "podman --network-cmd-path ./x info"),
    *("podman --storage-opt overlay.mount_program=./x info", "podman --hooks-dir ./x ps"),
    *("apt search -o AptCli::Hooks::Search::=./evil.sh z", "apt -c ./x list", "apt-cache -o A::B=./x search z"),
    *("tmux ls ';' run-shell 'id'", "tmux ls \\; run-shell id", "tmux ls -F '#(id)'", "tmux list-panes -a ';' run x"),
    *("neofetch --config ./x", "fastfetch -s command --command-text id", "fastfetch -c ./x", "onefetch --config x"),
    *("exiftool -config ./x a.jpg", "exiftool -delete_original a.jpg", "exiftool -execute -o x a.jpg"),
    *("exiftool -if '$x' a.jpg", "ruby -v -r./evil", "ruby -r./evil -v", "rpm -qa --load ./x"),
    *("rpm -ql x --queryformat '%(id)'", "rpm -qa --qf '%(id)'", "rpm -qa -E '%(id)'", "rpm -qa --pipe id"),
    *("gpg -k --list-options show-photos --photo-viewer id", "gpg --verify --keyserver x a.sig"),
    *("npm help ls --viewer=browser --browser=./x", "npm fund --browser=./x --which=1", "npm ls --node-options=x"),
    *("cmake --version -P x", "pidstat -e id", "wdiff --auto-pager a b", "procs --load-config ./x", "btop --config x"),
    *("nginx -t -c ./evil.conf", "nginx -t -g 'load_module ./x.so;'", "bat --pager=./x a", "ack --ackrc=./x y"),
    *("delta --config ./x a b", "lvs --config 'log/file=x'", "pkgconf --log-file=x y", "man -P ./x ls"),
    *("git bisect visualize clean -fdx F --", "git bisect view rm -f F --", "git help -w log"),
    *(
        "git cat-file --filters HEAD:a",
        "git help --web log",
        "terraform -plugin-dir=x version",
        "jj --config-file x st",
    ),
]
REPLACED = [
    *("cargo --version", "cargo +nightly --version", "cargo help", "cargo locate-project", "rustc -V", "rustup show"),
    *("rustfmt --version", "rustc --help", "yarn list", "yarn --version", "yarnpkg --version", "yarn help", "pnpm ls"),
    *("pnpm -v", "bun ls", "bun check", "mvn -v", "mvn --version", "gradle help", "bazel version", "bazel --version"),
    *(
        "bazelisk --version",
        "pants --version",
        "dotnet --version",
        "dotnet tool list",
        "poetry show",
        "poetry --version",
    ),
    *("pdm list", "hatch env find", "composer show", "composer --version", "bundle config list", "bundle --version"),
    *(
        "lein version",
        "rebar3 version",
        "lerna info",
        "ng version",
        "nx --version",
        "ionic info",
        "serverless --version",
    ),
    *("turbo --version", "jest --version", "webpack --help", "pytest --version", "tox --version", "flake8 --version"),
    *("pylint --version", "sbt --version", "mill version", "stack path", "cabal list-bin x", "rails --version"),
    *("npm help ls", "npm fund x", "npx jest --version", "/usr/bin/cargo --version", "timeout 5 cargo --version"),
]
"""Programs for which a project's files can put another program in their place, or which load the project's code before
anything else: `rust-toolchain.toml` with `path`, `yarnPath`, `.mvn/jvm.config`, `tools/bazel`, a local `lerna`."""
NEGATED = [
    *(
        "git clean -n --no-dry-run -f",
        "git clean -dn --no-dry-run",
        "git clean -n --no-dry -f",
        "git rm -n --no-dry-run a",
    ),
    *("git rm -n --no-dry-run -f a.txt", "git mv -n --no-dry-run a b", "git commit --dry-run --no-dry-run -m x"),
    *("git add -n --no-dry-run a", "git push -n --no-dry-run", "git branch --list --no-list foo"),
    *("git tag -l --no-list foo", "git format-patch --stdout --no-stdout -1", "ruff check --config fix=true a.py"),
    *("ruff check --config=fix=true a.py", "ruff format --check --config x a.py", "codespell --config x src"),
    *("git apply --stat --build-fake-ancestor=foo P", "git branch -v foo", "git branch --sort=x foo"),
    *("git branch -vv foo", "git branch --format=x foo", "git tag --sort=x foo", "git tag --format=x foo"),
    *("tar -tf a --volno-file=f", "tar tf a --volno-file=f", "poetry export -o foo", "poetry export --output foo"),
    *("uv export -o foo", "patch --dry-run --no-dry-run x", "rsync -n --no-dry-run a b", "rsync -n --no-n a b"),
    *("atop -w f", "zstdcat -o f a.zst", "zstdcat --rm a.zst", "llvm-dwarfdump -o f a", "dwarfdump -O file=f a"),
    *(
        "gprof -s a",
        "black --check --config x a.py",
        "isort --check --settings-path x a.py",
        "openssl x509 -CAcreateserial",
    ),
    *("git log -O x -p", "git diff --output=x", "terraform fmt -check=false", "brew cleanup -n --no-dry-run"),
]
FAR = [
    *("getent hosts x.evil", "getent ahosts x.evil", "tar -tf evil:x", "tar tf evil:x", "tar -t -f evil:x"),
    *("tar --list --file=evil:x", "tar --list --file evil:x", "tar -tzfevil:x", "cpio -t -F evil:x"),
    *("systemctl -H evil status", "systemctl status --host=evil", "loginctl -H evil list-sessions"),
    *("systemctl -M x status", "timedatectl -H evil", "hostnamectl -H evil status", "journalctl -M x"),
    *("docker -H ssh://evil ps", "docker -H tcp://evil ps", "docker --context x ps", "podman --url ssh://evil ps"),
    *("podman -r ps", "resolvectl query x.evil", "gron https://x.evil", "glow https://x.evil", "glow github.com/a/b"),
    *("deno info https://x.evil/a.ts", "deno info npm:evil", "rpm -qp https://x.evil/a.rpm", "gem list -r"),
    *("kustomize build https://x.evil/a", "kubectl kustomize github.com/a/b", "gem list --remote x", "gem search x"),
    *("apt changelog x", "apt-get changelog x", "xmllint https://x.evil/a.xml", "hg log -R ssh://evil/x"),
    *("qemu-img info nbd:x:1", "qemu-img info json:x", "jar tf a @x", "keytool -printcert -sslserver x.evil"),
    *("svn info https://x.evil", "kubectl version -s https://x.evil", "kubectl explain pods", "lspci -q"),
    *(
        "conda search x",
        "helm template x --repo https://x.evil y",
        "svn status -u",
        "git diff x@evil:y",
        "git remote -v show x",
    ),
]


@rows("line", [*MODULES, *OF_THE_PROJECT, *STARTED, *REPLACED, *NEGATED, *FAR])
def test_THR_shell_a_line_that_looks_as_if_it_read_is_not_low(line: str) -> None:
    assert risk_of(Action("process.exec", script=line)) != "low"


@rows(
    "line",
    [
        *("python3 -I -m json.tool a.json", "python3 -I -m zipfile -l a.zip", "python -I -m dis a.py", "java -version"),
        *("git log --oneline -20 --graph --all", "git status -sb", "git diff --stat main...HEAD", "git branch -vv"),
        *("git branch --list 'x*'", "git tag -l 'v*'", "git tag --sort=-creatordate", "git stash list", "git clean -n"),
        *("git rev-parse --abbrev-ref HEAD", "git log -p -S'x y' -- a.py", "git ls-files -o --exclude-standard"),
        *("git log --format='%h %s'", "docker ps -a --format '{{.Names}}'", "docker logs --tail 5 x", "ps -ef"),
        *("systemctl status nginx --no-pager", "journalctl -u x -n 50", "tar -tzf a.tar.gz", "tmux ls", "rpm -qa"),
        *("go version", "pip list", "apt list --installed", "npm ls", "npm --version", "make --version", "bun pm ls"),
        *("gradle --version", "stack --version", "cabal --version", "rustup toolchain list", "npm help", "npm fund"),
        *("sort -t, -k2,2n a.csv", "rg -n x src", "fd -e rs", "jq -r .a a.json", "kubectl version --client"),
    ],
)
def test_CMD_09_what_plainly_reads_stays_low(line: str) -> None:
    assert risk_of(Action("process.exec", script=line)) == "low"


def test_CMD_09_a_row_with_no_option_of_its_own_is_strict_or_says_that_no_option_does_more() -> None:
    """A new row that reads is strict unless it says otherwise."""
    for name in packaged_names():
        row = packaged(name)
        assert row is not None
        assert row.strict or row.any_words or row.unlisted is not None, name
