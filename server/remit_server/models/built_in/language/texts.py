"""Tells whether a part of a sentence is itself the text, the name or the value that is wanted, or only describes it: "a
check for x == 0" is no line to insert (MOD-23). Pure.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"\.(?:py|pyi|[cm]?[jt]sx?|java|go|rs|c|cc|cpp|h|hpp|cs|rb|php|swift|kt|sh|bash|lua|sql)$")


def is_code(path: str) -> bool:
    """Returns whether a file holds code, by its ending."""
    return _CODE.search(path) is not None


_NO_NEW_NAME = re.compile(
    r"twice|once|first|last|again|always|never|only|later|early|earlier|often|async|recursively|\w+ly|parameter|argument|"
    r"attribute|property|None|True|False|float|int|str|bool|bytes|list|dict|set|tuple|string|number|boolean|void|null|"
    r"negativo|positivo|private|public|static|something|anything|it|that|this",
    re.IGNORECASE,
)
"""Words that are no new name: they say how or how often something is called, or are types of values."""


def may_be_name(word: str) -> bool:
    """Returns whether a word can be the new name of something; it cannot in "called twice" and in "-> None"."""
    return _NO_NEW_NAME.fullmatch(word) is None


_RENAME = re.compile(r"\brename|benenn|renomm|renombr|rinomin|リネーム|改名", re.IGNORECASE)


def says_rename(text: str) -> bool:
    """Returns whether a sentence says that something gets another name; if so, any word can be that name."""
    return _RENAME.search(text) is not None


_LIKE_CODE = re.compile(r"[=(){}\[\];<>\"#@]|(?<!\w)'|'(?!\w)|^(?:import|from|use) \S|^- |\w: \S|^//")


def is_like_code(text: str) -> bool:
    """Returns whether a text has what plain words do not: signs of code, or a statement's first word. An apostrophe
    within a word is no such sign."""
    return _LIKE_CODE.search(text) is not None


_ARTICLE = re.compile(
    r"(?:an?|the|some|another|more|one|two|our|my|ein\w*|une?|una|uno|unos|des|les?|la|el|los|las|il|lo|gli|i|der|die|das|"
    r"qui|que|che|del|dell[ao']|mit|de la|du|we|you|they|that|which|what|how)\b",
    re.IGNORECASE,
)


def begins_with_article(text: str) -> bool:
    """Returns whether a text begins like a description: "a check for x == 0", "that we discussed"."""
    return _ARTICLE.match(text) is not None


_NO_ENTRY = re.compile(
    r"something|anything|everything|more|this|that|it|das|es|nothing|uppercase|lowercase|blank|empty|newlines?|footer|"
    r"header|headings?|tests?|dependenc(?:y|ies)|documentation|docs|logging|comments?|entries|lines?|code|imports?|"
    r"duplicates?|whitespace|blanks?|spaces|tabs",
    re.IGNORECASE,
)
"""Words that say which kind of text is wanted, and are not the text itself."""


def is_kind(word: str) -> bool:
    """Returns whether a word names a kind of text, or stands for one, and is not the text: "tests", "it", "nothing"."""
    return _NO_ENTRY.fullmatch(word) is not None


_TELLS_OF_TEXT = re.compile(
    r"what|how|why|one|an? |it\b|something|examples?|describing|explaining|about|that|saying|for\b|on\b", re.IGNORECASE
)
"""Matches the beginning of a description of a text."""


def describes(text: str) -> bool:
    """Returns whether a text tells what a comment or a docstring is to say: "what it does"."""
    return _TELLS_OF_TEXT.match(text) is not None


_NO_VALUE = re.compile(
    r"\w+(?:able|ible|ed|ful|less|ive)|unique|valid|free|empty|required|optional|secure|private|public|faster|smaller|"
    r"bigger|larger|shorter|longer|higher|lower|better|end|top|bottom|spaces|access|latest|newest|something|anything|it",
    re.IGNORECASE,
)
"""Words for how a setting should be, which are no values."""


def is_property(word: str) -> bool:
    """Returns whether a word says how something should be, and so is no value: "encrypted", "unique"."""
    return _NO_VALUE.fullmatch(word) is not None
