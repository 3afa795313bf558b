"""Python on a command line that imports, reckons and prints: known by its tree, and by the names that it calls."""

from __future__ import annotations

import ast
import re
import warnings

_FUNCTIONS = frozenset(
    [
        *("abs", "all", "any", "bool", "dict", "dir", "enumerate", "float", "hash", "hex", "int", "isinstance", "len"),
        *("list", "max", "min", "ord", "print", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum"),
        *("tuple", "type", "zip"),
    ]
)
"""Functions that everybody has, and that do nothing but give something."""
_DOTTED = frozenset(
    [
        *("json.load", "json.loads", "json.dumps", "tomllib.load", "tomllib.loads", "yaml.safe_load", "ast.parse"),
        *("os.getcwd", "os.cpu_count", "os.path.exists", "os.path.join", "platform.python_version"),
        *("platform.platform", "platform.system", "platform.machine", "sysconfig.get_paths", "time.time"),
        *("importlib.metadata.version", "datetime.datetime.now", "datetime.date.today", "torch.cuda.is_available"),
        *("sys.getrecursionlimit", "sys.getsizeof", "sys.getdefaultencoding", "math.sqrt", "math.factorial"),
    ]
)
"""Functions of modules of which the same holds; a module of that name in the project is the project's own."""
_METHODS = frozenset(
    ["items", "join", "keys", "lower", "read", "split", "splitlines", "strip", "title", "upper", "values"]
)
"""What a text or a table is asked for."""
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
"""Names of arguments by which no function is handed over."""
_LONGEST = 500


def only_shows(code: str) -> bool:
    """Whether code imports, reckons and prints, and reads no file but a plain one of the project."""
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
            # No name that is called here may stand for something else.
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
            return bool(arguments) and _is_plain_file(arguments[0]) and all(map(_reads, arguments[1:]))
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


def _reads(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in {"r", "rb", "rt"}
