"""Makes command lines as a coding model writes them; the same seed always gives the same lines."""

from __future__ import annotations

import random
from collections.abc import Mapping

TREE: Mapping[str, str] = {
    "a.py": "import os\n\n\ndef total(numbers):\n    return sum(numbers)\n\n\nprint(total([1, 2, 3]))\n",
    "b.txt": "pear\napple\nfig\napple\nbanana\n",
    "data.csv": "name,count\npear,3\napple,10\nfig,2\n",
    "notes/todo.md": "# Todo\n\n- [ ] one\n- [x] two\n",
    "notes/old.log": "INFO start\nERROR broken\nINFO end\nERROR again\n",
    "src/main.c": "int main(void) { return 0; }\n",
    "src/lib/util.js": "export const twice = (n) => n * 2;\nexport const name = 'util';\n",
    "run.sh": '#!/bin/bash\necho "ran with $# arguments: $*"\n',
}
"""The files in the folder before each line; `run.sh` is executable."""

_SOURCES = (
    *("cat b.txt", "cat {file}", "printf '%s\\n' {words}", "echo {words}", "seq {n}", "ls", "ls -1 src notes"),
    *("grep -rn {word} . | sort", "grep -c '' {file}", "find . -type f | sort", "find . -name '*.{ext}' | sort"),
    *("tail -n +2 data.csv", "head -n {n} {file}", "sed -n '1,{n}p' {file}", "awk -F, '{{print $1}}' data.csv"),
    *("tr a-z A-Z < b.txt", "cut -d, -f2 data.csv", "nl -ba b.txt", "wc -l < {file}", "rev b.txt", "tac {file}"),
    *("{{ cat <<'END'\n{words} $HOME `id`\nEND\n}}", "{{ cat <<END\n$((1 + {n})) {word}\nEND\n}}", 'cat <<< "{words}"'),
    *(
        "echo {{{word},x}}-{{1..3}}",
        "printf '%03d|%-6s|%x\\n' {n} {word} 255",
        "echo -e '{word}\\t{n}'",
        "cat missing.txt",
    ),
    *(
        "git --version | cut -c 1-3",
        "python3 -c 'print(sum(range({n})))'",
        "basename src/lib/util.js .js",
        "pwd | wc -l",
    ),
    *("diff a.py {file}", "comm -12 <(sort b.txt) <(sort -u b.txt)", "paste -d: <(seq 3) <(seq 4 6)", "echo $'a\\tb'"),
    *("date -d @0 -u +%F", "stat -c '%n %s %A' {file}", "du -a notes | wc -l", "md5sum {file}", "bash run.sh {words}"),
    *(
        "./run.sh {words}",
        'echo "${{PWD##*/}}" | wc -w',
        "jq -n '[1,{n}]' -c",
        "env | grep -c ^PATH=",
        "test -f {file}",
    ),
)
_FILTERS = (
    *(
        "sort",
        "sort -u",
        "sort -rn",
        "uniq -c",
        "head -n {n}",
        "tail -n {n}",
        "wc -l",
        "grep -v {word}",
        "grep -i {word}",
    ),
    *(
        "sed 's/a/{word}/g'",
        "sed -E 's/^(.)(.*)$/\\2\\1/'",
        "awk '{{print NR\": \"$0}}'",
        "awk 'length($0) > {n}'",
        "tr -d aeiou",
    ),
    *(
        "cut -c 1-{n}",
        "xargs -n {n} echo",
        "xargs -I% echo '<%>'",
        "tee copy.txt",
        "cat -A",
        "nl",
        "tr '\\n' ' '",
        "cat",
    ),
    *(
        'while read -r line; do echo "[$line]"; done',
        "tee -a b.txt | wc -c",
        "grep -o '[a-z]*' | sort | uniq -c | sort -rn",
    ),
)
_CHANGES = (
    *("echo {word} > new.txt", "echo {word} >> {file}", "printf '{word}' > 'with space.txt'", "cp {file} copy.txt"),
    *(
        "mv b.txt moved.txt",
        "mv notes docs",
        "cp -r src src2",
        "rm -f {file}",
        "rm -rf notes",
        "mkdir -p src/{{x,y}}/deep",
    ),
    *(
        "mkdir made && touch made/one",
        "mkdir made",
        "touch made.txt {file}",
        "sed -i 's/a/{word}/' {file}",
        "ln -s b.txt link",
    ),
    *(
        "ln b.txt hard.txt",
        "chmod +x a.py",
        "chmod -x run.sh",
        "tar c --owner=a:1 --group=a:1 src notes | gzip -n > all.tgz && tar tzf all.tgz | sort",
    ),
    *(
        "tar cf - notes | (mkdir un && cd un && tar xf -)",
        "cat > made.sh <<'END'\n#!/bin/sh\necho {word} \"$@\"\nEND\nchmod +x made.sh",
    ),
    *(
        "truncate -s 0 b.txt",
        ": > {file}",
        "find . -name '*.{ext}' -delete",
        "find src -type f -exec cp {{}} {{}}.bak \\;",
    ),
    *(
        "find . -name '*.txt' -print0 | xargs -0 -r sed -i 's/e/{word}/'",
        "rmdir src/lib",
        "rm -r src/lib",
        "mv a.py src/",
    ),
    *('for f in *.txt; do mv "$f" "${{f%.txt}}.md"; done', "install -m 755 a.py tool", "cat a.py b.txt > both.txt"),
    *(
        "split -l 2 b.txt part-",
        "rm -rf src && mkdir src && echo {word} > src/new.c",
        "sort -o b.txt b.txt",
        "cp -a run.sh run2.sh",
    ),
    *(
        "printf '\\x00\\xff{word}' > bytes.bin",
        "echo {word} | tee one.txt two.txt",
        "rm b.txt && mkdir b.txt && echo x > b.txt/in",
    ),
    *(
        "patch -p0 <<'END'\n--- b.txt\n+++ b.txt\n@@ -1,2 +1,2 @@\n-pear\n+{word}\n apple\nEND",
        "dd if=/dev/zero of=z.bin bs=1k count=2 status=none",
    ),
    *(
        "python3 - <<'END'\nopen('py.txt', 'w').write('{word}\\n' * {n})\nEND",
        "awk '{{print > $1\".out\"}}' b.txt",
        "gzip -k b.txt",
    ),
)
_WHOLE = (
    *(
        "set -o pipefail; {source} | {filter}; echo $?",
        "set -e; {change}; false; echo never",
        '{source}; echo "was $?"',
    ),
    *(
        'for i in {{1..{n}}}; do echo "$i: $((i * i))"; done | {filter}',
        'for f in *; do [ -d "$f" ] && echo "$f/"; done',
    ),
    *("i=0; while [ $i -lt {n} ]; do i=$((i + 1)); echo $i; done | {filter}", "until false; do echo once; break; done"),
    *(
        'f() {{ local x=$1; echo "got $x"; return {n}; }}; f {word}; echo $?',
        "if [[ -f {file} && $(wc -l < {file}) -gt {n} ]]; then {source}; else {change}; fi",
    ),
    *(
        "trap 'echo bye' EXIT; {source} | {filter}",
        "trap 'echo caught' ERR; false; {source}",
        'a=({words}); echo "${{#a[@]}} ${{a[-1]}} ${{a[*]:0:2}}"',
    ),
    *(
        "declare -A m=([x]=1 [y]={n}); echo $((m[x] + m[y]))",
        "( cd src && {inside} ); {source}",
        "{{ {source}; {source}; }} > both.out 2>&1",
    ),
    *(
        "{source} > out.txt 2> err.txt; cat out.txt err.txt",
        "{source} | {filter} > out.txt",
        "{source} 2>&1 | {filter}",
        "{source} |& {filter}",
    ),
    *(
        "{change} && {source}",
        "{change} && {change2}",
        "{change}; ls -A",
        "{change}; find . | sort",
        "{change} || echo failed",
        "! {source} && echo no",
    ),
    *(
        "case {word} in a*) echo starts;; *[xyz]) echo ends;; *) echo other;; esac",
        'x={word}; echo "${{x^^}} ${{x:1:2}} ${{x/a/b}} ${{#x}} ${{y:-none}}"',
    ),
    *(
        'while IFS=, read -r name count; do echo "$count $name"; done < data.csv | {filter}',
        'mapfile -t l < b.txt; echo "${{l[1]}} ${{#l[@]}}"',
    ),
    *(
        "{source} | {filter} | {filter2}",
        "{source} | {filter} && {change}",
        "export V={word}; bash -c 'echo $V'",
        "exec 3> three.txt; echo {word} >&3; exec 3>&-",
    ),
    *(
        "sleep 0.05 & wait $!; echo $?",
        "(exit {n}); echo $?",
        "exit {n}",
        "timeout 0.1 sleep 5; echo $?",
        "bash -c 'kill -TERM $$'; echo $?",
        "kill -9 $$",
    ),
    *(
        'read -r first < {file}; echo "$first"',
        "shopt -s globstar nullglob; echo **/*.{ext}",
        "echo *.nothing; echo [ab]*",
        "printf -v s '%s-' {words}; echo \"$s\"",
    ),
    *(
        '[[ {word} =~ ^(.)(.*)$ ]] && echo "${{BASH_REMATCH[2]}}"',
        "select x in; do :; done < /dev/null; echo $?",
        "let n={n}*2; echo $n",
        "echo $(( {n} ** 2 % 7 ))",
    ),
    *(
        '{source} | while read -r l; do echo "$l" >> lines.txt; done; wc -l < lines.txt',
        't=$(mktemp) && echo {word} > "$t" && cat "$t" && rm "$t"',
    ),
    *(
        "pushd src > /dev/null && ls && popd > /dev/null && ls | wc -l",
        "nosuchprogram --flag; echo $?",
        "echo {word} >&2; exit {n}",
        "test -e {file} && echo there",
    ),
)
_FILES = ("a.py", "b.txt", "data.csv", "notes/todo.md", "notes/old.log", "src/lib/util.js")
_WORDS = ("apple", "ERROR", "fig", "name", "total", "x y", "one", "zebra", "a-b", "main")
_INSIDE = ("ls", "cat main.c", "touch new.c", "mkdir -p deep", "mv main.c other.c", "find . -type f | sort")


def everyday_lines(seed: int, count: int) -> tuple[str, ...]:
    """Returns `count` different lines, in which each shape is about equally frequent."""
    chance = random.Random(seed)
    shapes = [*_WHOLE, *_CHANGES]
    found: dict[str, None] = {}
    while len(found) < count:
        chance.shuffle(shapes)
        found |= dict.fromkeys(_fill(shape, chance) for shape in shapes)
    return tuple(found)[:count]


def _fill(shape: str, chance: random.Random) -> str:
    """Fills each place of a shape: parts such as `{source}`, and values such as `{file}`."""
    parts = {
        "source": lambda: _leaf(chance.choice(_SOURCES), chance),
        "filter": lambda: _leaf(chance.choice(_FILTERS), chance),
        "change": lambda: _leaf(chance.choice(_CHANGES), chance),
        "inside": lambda: chance.choice(_INSIDE),
    }
    names = {name + more: make() for name, make in parts.items() for more in ("", "2")}
    return shape.format_map(names | _values(chance))


def _leaf(shape: str, chance: random.Random) -> str:
    return shape.format_map(_values(chance))


def _values(chance: random.Random) -> dict[str, object]:
    words = chance.sample([word for word in _WORDS if " " not in word], 3)
    return {
        "file": chance.choice(_FILES),
        "word": chance.choice([word for word in _WORDS if " " not in word]),
        "words": " ".join(words),
        "n": chance.randint(1, 5),
        "ext": chance.choice(("py", "txt", "md", "c", "js")),
    }
