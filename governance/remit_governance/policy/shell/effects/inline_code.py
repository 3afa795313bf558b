"""Judges for interpreters that are given code on the command line. A few forms of code in each language are known to
only show something or to run the project.

Python code that only imports, calculates and prints is recognised by its tree and by the names that it calls.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.rows import Effect

Words = Sequence[str]


def of_node(arguments: Words) -> Effect | None:
    """Returns the effect of `node`: a check reads, the project's tests run, code is judged by `of_code`, and any other
    call is `unknown`."""
    match list(arguments):
        case ["-v" | "--version" | "-h" | "--help"]:
            return "reads"
        case ["--check" | "-c", _]:
            return "reads"
        case ["--test", *_]:
            return "runs"
        case ["-e" | "--eval" | "-p" | "--print" | "-pe", code]:
            return of_code("node", code)
        case _:
            return "unknown"


def of_ruby(arguments: Words) -> Effect | None:
    """Returns the effect of `ruby -e CODE`; None for any other call."""
    match list(arguments):
        case ["-e", code]:
            return of_code("ruby", code)
        case _:
            return None


_PERL_LOOPS = re.compile(r"-[npla0]*e")


def of_perl(arguments: Words) -> Effect | None:
    """Returns the effect of `perl` with code for each line, such as `perl -ne CODE FILE`; None for any other call."""
    match list(arguments):
        case [option, code, *files] if _PERL_LOOPS.fullmatch(option) and not any(
            set(file) & set("|<>&") or file[:1] in "-+" for file in files
        ):
            return of_code("perl", code)
        case _:
            return None


def of_julia(arguments: Words) -> Effect | None:
    """Returns the effect of `julia -e CODE`; None for any other call."""
    match [word for word in arguments if word not in {"--project", "--project=.", "-q"}]:
        case ["-e", code]:
            return of_code("julia", code)
        case _:
            return None


def of_r(arguments: Words) -> Effect:
    """Returns the effect of R with `-e CODE`; `--version` reads, and any other call is `unknown`."""
    match [word for word in arguments if word != "--vanilla"]:
        case ["-e", code]:
            return of_code("r", code)
        case ["--version"]:
            return "reads"
        case _:
            return "unknown"


# Without parentheses, backticks and assignments nothing is called, and a name is only read.
_VALUE = r"[\w\s.+*/%<>,'\"\[\]:-]*"
_IMPORTS = r"(?:\s*(?![^;]*\bprint\b)(?:import [\w., ]+|from [\w.]+ import [\w, ]+)\s*;)*"
_SHOWS: Mapping[str, str] = MappingProxyType(
    {
        "python": rf"{_IMPORTS}\s*(?:print\({_VALUE}\)\s*|import [\w., ]+)?;?\s*",
        "ruby": r"\s*(?:puts|p|print)\s+(?:[A-Z]\w*(?:::[A-Z]\w*)*|[\d\s+*/.-]+|'[^'`#]*')\s*;?\s*",
        "php": r"\s*(?:echo\s+)?(?:PHP_[A-Z_]+|php(?:version|info)\(\)|[\d\s+*/.-]+|'[^'`$]*')\s*;?\s*",
        "perl": (
            r"\s*(?:print(?:\s+(?:if|unless)\s+/[\w\s.,:;=<>^|*+\\\[\]-]*/i?)?|print\s+\"[\w\s.,:\\-]*\""
            r"|(?:s|tr|y)/[\w\s.,:;=<>^|*+\\-]*/[\w\s.,:;=<>*+\\-]*/[gi]*)\s*;?\s*"
        ),
        "julia": (
            r"\s*(?:using \w+\s*;\s*)*(?:using \w+|Pkg\.(?:test|status|instantiate|precompile|resolve|build)\(\)"
            r"|versioninfo\(\)|println\((?:VERSION|[\d\s+*/.-]+)\))\s*;?\s*"
        ),
        "r": (
            r"\s*(?:library\(\w+\)\s*;\s*)*(?:library\(\w+\)|sessionInfo\(\)|R\.version(?:\.string)?|packageVersion\(['\"]\w+['\"]\)"
            r"|(?:devtools|testthat|lintr|styler|covr|renv|roxygen2|pkgdown|rcmdcheck)::(?:test|check|document|load_all"
            r"|test_local|test_dir|test_file|lint_package|lint_dir|style_pkg|style_dir|package_coverage|status|restore"
            r"|roxygenise|build_site|rcmdcheck)\((?:['\"][\w./-]*['\"])?\))\s*;?\s*"
        ),
        "node": rf"(?:console\.log\()?(?:require\(['\"][\w./@-]+['\"]\))?{_VALUE}\)?\s*;?\s*",
    }
)


def of_code(language: str, code: str) -> Effect:
    """Returns `runs` for code that only imports and prints, because it runs the project's own code at most, and
    `unknown` for any other code."""
    if language == "python" and only_shows(code):
        return "runs"
    plain = _SAFE_CALL.sub("[", code).replace(")", "]") if language == "node" else code
    return (
        "runs"
        if re.fullmatch(_SHOWS[language], code) or (plain != code and re.fullmatch(_SHOWS[language], plain))
        else "unknown"
    )


_SAFE_CALL = re.compile(
    r"(?<![\w.)\]])(?:console\.log|JSON\.stringify|Object\.(?:keys|values|entries)|require|require\.resolve"
    r"|process\.(?:cwd|uptime|memoryUsage)|Math\.\w+)\("
)
"""Calls in JavaScript that only show something, or load what the project names."""


_SQL_TEXT = re.compile(r"'(?:[^']|'')*'")
_SQL_READS = re.compile(
    r"\s*(?:select|explain(?:\s+query\s+plan)?\s+select|show|describe|desc|pragma\s+\w+\s*(?:\(\s*\w+\s*\))?\s*$)\b(?:.*)",
    re.IGNORECASE | re.DOTALL,
)
_SQL_FUNCTIONS = frozenset(
    [
        *("abs", "avg", "cast", "coalesce", "concat", "count", "current_database", "date", "datetime", "extract"),
        *("group_concat", "ifnull", "in", "json_extract", "length", "lower", "ltrim", "max", "min", "now", "nullif"),
        *("over", "printf", "replace", "round", "rtrim", "strftime", "string_agg", "substr", "substring", "sum"),
        *("time", "to_char", "total", "trim", "typeof", "upper", "values", "version", "where", "and", "or", "not"),
        *("exists", "as", "on", "distinct", "using"),
    ]
)
_SQL_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_SHELL_COMMAND = re.compile(
    r"\.(?:tables|schema|indexes|indices|databases|dbinfo|fullschema|show|help|version)\b[\w\s%]*|\\(?:d[a-zA-Z+]*|l\+?|z|conninfo)(?:\s+[\w.*]+)?"
)
_VALUED = frozenset(
    [
        *("-h", "-p", "-P", "-U", "-u", "-d", "-D", "-c", "-e", "--host", "--port", "--user", "--username"),
        *("--dbname", "--database", "--command", "--execute", "-S", "--socket"),
    ]
)
_GIVES_SQL = frozenset(["-c", "-e", "--command", "--execute", "-cmd"])
_FLAGS = frozenset(
    [
        *("-l", "-A", "-t", "-X", "-q", "-w", "-W", "-x", "-E", "-B", "-N", "--list", "--no-psqlrc", "--tuples-only"),
        *("--csv", "--expanded", "--version", "-V", "-header", "-column", "-csv", "-json", "-line", "-readonly"),
        *("--readonly", "-box", "-table", "-markdown", "-batch"),
    ]
)


def of_sql(arguments: Sequence[str]) -> Effect:
    """Returns `asks` if every statement that a database's client is given is known to read, `reads` if the client only
    lists databases or shows its version, and `unknown` otherwise."""
    texts: list[str] = []
    operands: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _VALUED and word.startswith("-"):
            value = value if equals else next(words, "")
            texts += [value] if name in _GIVES_SQL else []
        elif word.startswith("-"):
            if word not in _FLAGS:
                return "unknown"
        else:
            operands.append(word)
    if not texts and {"-l", "--list", "--version", "-V"}.isdisjoint(arguments):
        texts = operands[1:]
        if not texts:
            return "unknown"
    if not texts:
        return "reads" if set(arguments) <= _LISTS else "asks"
    return "asks" if all(map(_reads, texts)) else "unknown"


_LISTS = frozenset({"-l", "--list", "--version", "-V", "-A", "-t", "-X", "-x", "--csv", "--no-psqlrc", "--tuples-only"})
"""Options with which a client only lists this machine's databases or shows its version."""


def of_sql_file(arguments: Sequence[str]) -> Effect:
    """Returns the effect of the client of a database in a file: as `of_sql`, but `reads` instead of `asks` if the file
    is opened read-only."""
    said = of_sql(arguments)
    return "reads" if said == "asks" and not _READ_ONLY.isdisjoint(arguments) else said


_READ_ONLY = frozenset({"-readonly", "--readonly"})


def _reads(text: str) -> bool:
    if _SHELL_COMMAND.fullmatch(text.strip()):
        return True
    plain = _SQL_TEXT.sub("''", text)
    if re.search(r"\b(?:into|copy|lock)\b|\\|--|/\*|\$", plain, re.IGNORECASE) or re.search(
        r"for\s+update", plain, re.IGNORECASE
    ):
        return False
    statements = [each for each in plain.split(";") if each.strip()]
    return bool(statements) and all(
        _SQL_READS.fullmatch(each) and all(name.lower() in _SQL_FUNCTIONS for name in _SQL_CALL.findall(each))
        for each in statements
    )


_FUNCTIONS = frozenset(
    [
        *("abs", "all", "any", "bool", "dict", "dir", "enumerate", "float", "hash", "hex", "int", "isinstance", "len"),
        *("list", "max", "min", "ord", "print", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum"),
        *("tuple", "type", "zip"),
    ]
)
"""Built-in functions of Python that do nothing but return or print something."""
_DOTTED = frozenset(
    [
        *("json.load", "json.loads", "json.dumps", "tomllib.load", "tomllib.loads", "yaml.safe_load", "ast.parse"),
        *("os.getcwd", "os.cpu_count", "os.path.exists", "os.path.join", "platform.python_version"),
        *("platform.platform", "platform.system", "platform.machine", "sysconfig.get_paths", "time.time"),
        *("importlib.metadata.version", "datetime.datetime.now", "datetime.date.today", "torch.cuda.is_available"),
        *("sys.getrecursionlimit", "sys.getsizeof", "sys.getdefaultencoding", "math.sqrt", "math.factorial"),
    ]
)
"""Functions of modules that do nothing but return something. If the project has a module of that name, its own code
runs."""
_METHODS = frozenset(
    ["items", "join", "keys", "lower", "read", "split", "splitlines", "strip", "title", "upper", "values"]
)
"""Methods of texts, dicts and files that do nothing but return something."""
_NODES = (
    *(ast.Module, ast.Expr, ast.Import, ast.ImportFrom, ast.alias, ast.Assign, ast.Name, ast.Load, ast.Store),
    *(ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp, ast.BoolOp),
    *(ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.List, ast.Tuple, ast.Dict, ast.IfExp),
    *(ast.JoinedStr, ast.FormattedValue, ast.Call, ast.keyword),
)
_PLAIN_FILE = re.compile(
    r"(?!.*(?:secret|credential|token))\w[\w-]*(?:/\w[\w-]*)*(?:\.[\w-]+)*\.(?:json|toml|ya?ml|txt|md|csv|cfg|py)"
)
_KEYWORDS = frozenset(["sep", "end", "flush", "indent", "sort_keys", "ensure_ascii", "reverse", "encoding"])
"""Keyword arguments that cannot pass a function."""
_LONGEST = 500


def only_shows(code: str) -> bool:
    """Returns whether Python code only imports, calculates and prints, and reads only plain files of the project."""
    if len(code) > _LONGEST:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(isinstance(node, _NODES) and _is_plain(node) for node in nodes)


def _is_plain(node: ast.AST) -> bool:  # noqa: PLR0911 a table of kinds
    match node:
        case ast.alias(name=name, asname=other):
            # A name that may be called must not be bound to something else.
            own = other or name
            return own not in _FUNCTIONS | {"open", "*"} and (own == name or own not in _ROOTS)
        case ast.ImportFrom(module=module, names=names):
            return module == "importlib.metadata" or all((each.asname or each.name) not in _ROOTS for each in names)
        case ast.Name(id=name, ctx=ast.Store()):
            return name not in _FUNCTIONS | _ROOTS | {"open"}
        case ast.Attribute(attr=name, ctx=context):
            return isinstance(context, ast.Load) and (not name.startswith("_") or name in {"__version__", "__file__"})
        case ast.Subscript(ctx=context):
            return isinstance(context, ast.Load)
        case ast.Name(id=name):
            return not name.startswith("_")
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _is_plain_call(function, arguments) and all(each.arg in _KEYWORDS for each in keywords)
        case _:
            return True


_ROOTS = frozenset(name.partition(".")[0] for name in _DOTTED) | {"version"}


def _is_plain_call(function: ast.expr, arguments: list[ast.expr]) -> bool:  # noqa: PLR0911 a table of kinds
    match function:
        case ast.Name(id="open"):
            return bool(arguments) and _is_plain_file(arguments[0]) and all(map(_is_reading_mode, arguments[1:]))
        case ast.Name(id="version"):
            return True
        case ast.Name(id=name):
            return name in _FUNCTIONS
        case ast.Attribute(value=ast.Constant(value=str()), attr=name):
            return name in _METHODS
        case ast.Attribute(value=ast.Call(), attr=name):
            return name in _METHODS
        case ast.Attribute():
            return ast.unparse(function) in _DOTTED
        case _:
            return False


def _is_plain_file(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _PLAIN_FILE.fullmatch(node.value) is not None
    )


def _is_reading_mode(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in {"r", "rb", "rt"}
