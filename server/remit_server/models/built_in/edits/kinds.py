"""How files of each kind write a setting: the signs, the comments, the words and the quotes (MOD-23). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


class NoPlace(Exception):
    """The file has no such place, or several; the message tells the reason."""


@dataclass(frozen=True, slots=True)
class SettingForm:
    """The pattern of the beginning of a line that sets NAME, and the pattern that may end its value."""

    head: str
    end: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """A language's words for true, false and null."""

    true: str = "true"
    false: str = "false"
    null: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """How files of a kind write a setting. `comment`, `spans`, `opens` and `plain` are regular expressions."""

    name: str
    forms: tuple[SettingForm, ...]
    comment: str = ""
    """The comment that may follow a value and its end."""
    spans: str = ""
    """The parts that may hold a text that only looks like a setting: strings, comments, continued lines."""
    opens: str = ""
    """The end of a line that opens a block of settings; deeper lines below any other line continue its text."""
    plain: str = ""
    """A text without quotes, other than a number or one of `words`; empty if texts always have quotes."""
    words: Words | None = Words()
    quotes: bool = True
    """Whether a value may get quotes if the old one had none."""
    unsafe: str = "\\"
    """The characters that mean something else between quotes."""
    either_quote: bool = False
    code: bool = False
    typed: bool = False
    """Whether a value has to keep its type, because only the compiler knows what another type would mean there."""


NUMBER = (
    r"[+-]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*\.?(?:[eE][+-]?\d+)?)"
)
QUOTED = r"\"(?:[^\"\\\n]|\\[^\"\n])*\"|'(?:[^'\\\n]|\\[^'\n])*'"


def _plain(stop: str, without: str = "", *, apostrophes: bool = False) -> str:
    """Returns the pattern of an unquoted text up to `stop` that cannot be read as anything else."""
    begins = r"(?=\S)(?![-?:=](?:\s|$)|[&*!|>%@#,;=])"
    within = r"|(?<=\w)'(?=\w)" if apostrophes else ""
    return rf"{begins}(?:(?!{stop})[^{{}}\[\]\"'`{without}]{within})+(?<![\s:,;])"


_STRINGS = r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
_TRIPLES = r"\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)|'''(?:\\.|[^\\])*?(?:'''|\Z)"
_BLOCKS = r"/\*.*?(?:\*/|\Z)|`(?:\\.|[^`\\])*(?:`|\Z)"
_GOES_ON = r"\\\n(?:[^\n]*\\\n)*"
_SHELL_TEXTS = (
    r"(?<!<)<<(?!<)[-~]?\s*(?P<q>[\"']?)(?P<mark>\w+)(?P=q)[^\n]*\n.*?(?:^\s*(?P=mark)$|\Z)"
    r"|\"(?:\\.|[^\"\\])*(?:\"|\Z)|'[^']*(?:'|\Z)|(?:^|(?<=\s))#[^\n]*"
)
_TYPE = r"(?:\s*:\s*[\w\[\]<>,. |\"']+?)?"
WORDS_BEFORE = r"(?:[A-Za-z_][\w<>\[\].]*(?:::[\w<>]+)*[*&]*\s+)*"
_LINE_SPANS = f"{_TRIPLES}|//[^\\n]*|{_BLOCKS}|{_STRINGS}|{_GOES_ON}"
_LINE_COMMENT = r"\s*(?://.*|/\*(?:(?!\*/).)*\*/)"

PYTHON = Kind(
    "python",
    (SettingForm(rf"\s*NAME{_TYPE}\s*=(?!=)\s*", "[,;]?"), SettingForm(r"\s*([\"'])NAME\1\s*:\s*", ",?")),
    comment=r"\s*#.*",
    spans=f"#[^\\n]*|{_TRIPLES}|{_STRINGS}|{_GOES_ON}",
    words=Words("True", "False", "None"),
    either_quote=True,
    code=True,
)
SCRIPT = Kind(
    "script",
    (
        SettingForm(rf"\s*{WORDS_BEFORE}NAME\??{_TYPE}\s*=(?![=>])\s*", "[,;]?"),
        SettingForm(r"\s*([\"']?)NAME\1:\s*", ",?"),
    ),
    comment=_LINE_COMMENT,
    spans=f"//[^\\n]*|{_BLOCKS}|{_STRINGS}|{_GOES_ON}",
    words=Words(null="null"),
    either_quote=True,
    code=True,
)
CODE = replace(
    SCRIPT,
    name="code",
    forms=(
        SettingForm(rf"\s*{WORDS_BEFORE}[*&]?NAME{_TYPE}\s*:?=(?![=>])\s*", "[,;]?"),
        SettingForm(r"\s*NAME:\s*", ","),
    ),
    spans=_LINE_SPANS,
    words=Words(),
    unsafe="\\$",
    either_quote=False,
    typed=True,
)
_JSON = Kind("json", (SettingForm(r'\s*"NAME"\s*:\s*', ",?"),), spans=f"{_BLOCKS}|{_STRINGS}", words=Words(null="null"))
YAML = Kind(
    "yaml",
    (SettingForm(r"\s*([\"']?)NAME\1:\s+"),),
    comment=r"\s+#.*",
    opens=r"(?:[:{\[,]|^\s*-)(?:\s+[&!]\S+)*\s*(?:\s#.*)?$",
    plain=_plain(r"\s#|:\s|\$\(", apostrophes=True),
    words=Words(null="null"),
)
TOML = Kind(
    "toml",
    (SettingForm(r"\s*([\"']?)NAME\1\s*=\s*"),),
    comment=r"\s*#.*",
    spans=f"#[^\\n]*|{_TRIPLES}|{_STRINGS}",
)
_INI = Kind(
    "ini",
    (SettingForm(r"\s*NAME\s*[=:]\s*"),),
    comment=r"\s+[#;].*",
    opens=r"^\s*\[.*\]\s*(?:[#;].*)?$",
    plain=_plain(r"\s[#;]|\$\(", r"\\", apostrophes=True),
    words=None,
    quotes=False,
)
ENV = Kind(
    "env",
    (SettingForm(r"\s*(?:export\s+)?NAME\s*=\s*"),),
    comment=r"\s+#.*",
    spans=_SHELL_TEXTS,
    plain=_plain(r"\s#", r"$\\"),
    words=None,
    unsafe="\\$`",
)
SHELL = replace(
    ENV,
    name="shell",
    # With spaces around the `=`, the shell would run a command of this name.
    forms=(SettingForm(r"\s*(?:(?:export|readonly|local|declare(?:\s+-\w+)?)\s+)?NAME="),),
    spans=rf"{_SHELL_TEXTS}|{_GOES_ON}|\\.",
    plain=r"[\w./:@%+,-]+",
)
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("py", "pyi", "pyw"), PYTHON),
    **dict.fromkeys(("js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts"), SCRIPT),
    **dict.fromkeys(
        ("java", "go", "rs", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "kt", "kts", "scala", "m", "mm"), CODE
    ),
    "json": _JSON,
    **dict.fromkeys(("jsonc", "json5"), replace(_JSON, comment=_LINE_COMMENT)),
    **dict.fromkeys(("yaml", "yml"), YAML),
    "toml": TOML,
    **dict.fromkeys(("ini", "cfg", "conf", "gitconfig", "editorconfig", "flake8", "coveragerc", "pylintrc"), _INI),
    # In these files nothing after a value is a comment.
    "properties": replace(_INI, name="properties", comment="", plain=_plain(r"\$\(", r"\\#")),
    "env": ENV,
    **dict.fromkeys(("sh", "bash", "zsh", "bashrc", "zshrc", "profile", "bash_profile"), SHELL),
    "mk": Kind(
        "make",
        (SettingForm(r" *(?:(?:export|override)\s+)?NAME\s*(?::{0,3}|\?)=\s*"),),
        comment=r"\s*#.*",
        spans=rf"^ *define\b.*?(?:^ *endef\b|\Z)|#[^\n]*|{_GOES_ON}",
        plain=_plain(r"\s#", r"$\\#"),
        words=None,
        quotes=False,
        unsafe="\\$#",
    ),
}
_OTHER = Kind(
    "other",
    (SettingForm(r"\s*(?:export\s+|local\s+|const\s+|var\s+|let\s+|def\s+)?\$?NAME\s*=(?![=>])\s*", "[,;]?"),),
    comment=r"\s+(?:#|//|--).*",
    spans=(
        rf"{_TRIPLES}|{_BLOCKS}|\[\[.*?(?:\]\]|\Z)|<!--.*?(?:-->|\Z)|^=begin\b.*?(?:^=end\b|\Z)|{_GOES_ON}"
        r"|<<<?[-~]?[\"']?(?P<mark>[A-Z]\w*).*?(?:^\s*(?P=mark)\b|\Z)"
    ),
    unsafe="\\$#{`",
    typed=True,
)
_PROSE = frozenset({"md", "markdown", "rst", "txt", "adoc", "html", "htm"})
_MARKUP = frozenset({"html", "htm"})


def is_prose(path: str) -> bool:
    """Returns whether the file is text for people, in which no sign shows that something continues on other lines."""
    name = path.rpartition("/")[2].lower()
    return name.rpartition(".")[2] in _PROSE - _MARKUP and not is_requirements(name)


def is_requirements(name: str) -> bool:
    """Returns whether a file of this name lists the packages that a project needs."""
    return name.startswith("requirements") and name.endswith(".txt")


def kind_of(path: str) -> Kind:
    """Returns the kind of a file, by its name. Raises NoPlace if the file is prose."""
    name = path.rpartition("/")[2].lower()
    if name.rpartition(".")[2] in _PROSE:
        raise NoPlace("it is a text file, which sets no values")
    if name in {"makefile", "gnumakefile"} or name.startswith("makefile."):
        return _KINDS["mk"]
    return ENV if name.startswith((".env.", ".envrc")) else _KINDS.get(name.rpartition(".")[2], _OTHER)
