"""Tells what a sentence is about: a whole file, by its name or as "it", or something in the file (MOD-23). Pure."""

from __future__ import annotations

import re

from remit_server.models.built_in.language.sentences import CONDITION, MOST_BARE, Sentence, is_name, without_paths
from remit_server.models.built_in.language.words import BY_STEM, file_of, filling, says, stem_of

_IS = (
    r"(?:is|isn't|isnt|is not|was|should|shouldn't|does|doesn't|doesnt|belongs|ist|war|sollte|geh[öo]rt|est|n'est|"
    r"devrait|no (?:es|se)|es|deber[ií]a|non(?: [èe]| si)?|[èe]|dovrebbe)"
)
_CLAUSES = re.compile(
    r"(?:(?:the|die|der|das|le|la|el|il|our|my) )?(?:(?:file|datei|fichier|archivo) )?(\S+?),? (?:\w+ )?"
    rf"{_IS} ([^,;.!]*)(?:, so|[,;.!]|,? and) (.+)",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(b[óo]rra|elim[íi]na|qu[íi]ta|mu[ée]ve|cancella|togli|rimuovi|sposta)(l[oa])\b", re.IGNORECASE)
"""A verb of Spanish or Italian and its "it" in one word."""
_ACCENTS = str.maketrans("óíé", "oie")
_IT = re.compile(r"(?<![\w-])(?:it|this|that(?: file)?|sie|es|ihn|lo|la)(?![\w-])|(?<=\w)-l[ea](?!\w)", re.IGNORECASE)
_ELSE = re.compile(r"\b(?:where|what|how|why|when|wo|was|où|donde|dove)\b", re.IGNORECASE)


def says_it(text: str) -> bool:
    """Returns whether a text has a pronoun such as "it"; `la` and `lo` do not count, because they are articles too."""
    return any(found[0].lower() not in {"la", "lo"} for found in _IT.finditer(text)) or _JOINED.search(text) is not None


def with_subject(said: Sentence) -> str:
    """Returns the second of two clauses with the file of the first in place of "it": "notes.txt is empty, delete it".
    "It" could mean anything else that the first clause names, so the first clause may only tell a file's state, unless
    the second one gives the file a new name. Returns any other sentence as it is."""
    if _names_it_anew(said):
        return f"rename {said.files[0]} to {said.paths[0]}"
    found = _CLAUSES.fullmatch(said.text)
    if found is None or said.quoted or len(said.files) != 1 or file_of(found[1], {*said.files}) is None:
        return said.text
    about = found[2].strip()
    rest = _JOINED.sub(lambda joined: f"{joined[1].translate(_ACCENTS)} {joined[2]}", found[3])
    states = all(_STATE.fullmatch(word) or word.lower() in filling() for word in re.findall(r"[^\W\d_'’]{2,}", about))
    named = says("moves", rest) and bool(said.paths) and len(about.split()) <= MOST_BARE + 1
    other = _ELSE.search(about) or any(map(is_name, about.split())) or len(_IT.findall(rest)) != 1
    return " ".join(_IT.sub(f" {found[1]} ", rest).split()) if (states or named) and not other else said.text


_RENAMES_IT = re.compile(
    r".{4,}?(?:, so|[,;.!]|,? (?:and|so))\s+(?:please |bitte )?"
    r"(?:(?:rename|benenne?|rinomina) (?:it|this|sie|es)|renomme-l[ea]|ren[oó]mbral[oa]|rinominal[oa]) "
    r"(?:to |in |en |a )?\S+(?: please| um)?\W*",
    re.IGNORECASE,
)


def _names_it_anew(said: Sentence) -> bool:
    """Returns whether a second clause renames "it" to a name with the file's ending, so that "it" can only be the file:
    "a.py is too vague, rename it to b.py"."""
    if len(said.files) != 1 or len(said.paths) != 1 or said.quoted or not _RENAMES_IT.fullmatch(said.text):
        return False
    old, new = said.files[0], said.paths[0]
    return old.rpartition(".")[2] == new.rpartition(".")[2] and not CONDITION.search(said.text)


_STATE = re.compile(
    r"not|no|longer|used|needed|unused|useless|obsolete|old|older|outdated|dead|deprecated|unnecessary|redundant|junk|"
    r"garbage|rubbish|trash|duplicate|superfluous|empty|wrong|bad|good|silly|name|mess|gone|stale|required|anywhere|"
    r"nirgends|leer|unbenutzt|überflüssig|alt|veraltet|falsch|benannt|mehr|nicht|gebraucht|benutzt|doppelt|"
    r"vide|inutile|inutilisé|obsolète|plus|utile|utilisé|vieux|pas|doublon|"
    r"vac[ií]o|vac[ií]a|in[úu]til|obsoleto|viejo|usa|sirve|necesario|duplicado|vuoto|vecchio|serve|usato|più|doppione",
    re.IGNORECASE,
)
"""Words for the state of a whole file."""
_WITHIN = (
    r"\b(?:in|from|(?<!rid )of|inside|within|out of|aus|von|im|de|du|dans|del|en|da|dal|dalla|nel|nella|di)\s+"
    r"(?:(?:the|my|our|der|die|das|dem|le|la|el|il|lo) )?(?:(?:file|datei|fichier|archivo|fichero|module) )?(?:\./)?"
)
_A_FILE = re.compile(r"\bfile\b|\bscript\b|\bdatei\b|\bfichier\b|\barchivo\b|\bfichero\b|ファイル", re.IGNORECASE)


def means_file(said: Sentence) -> bool:
    """Returns whether a sentence is about its first file as a whole. It is not if the file is only the place of
    something else ("remove it from cart.py", "cart.pyの関数")."""
    path = said.files[0]
    name = path.rpartition("/")[2]
    called = rf"(?:[\w./-]*/)?(?:{re.escape(name)}|{re.escape(stem_of(path))})(?![\w-])"
    place = rf"{_WITHIN}{called}|{called}[」`\"']?(?:の|から)"
    if re.search(place, said.text, re.IGNORECASE | re.ASCII):
        return False
    spelled = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said.text, re.IGNORECASE | re.ASCII)
    return spelled is not None or stem_of(path) in BY_STEM or _A_FILE.search(said.text) is not None


_PART = re.compile(
    r"\b(?:after|before|around|between|behind|everything|anything|all|each|every|contents?|text|words?|typos?|commas?|"
    r"characters?|letters?|quotes?|brackets?|semicolons?|functions?|classe?s?|methods?|def|variables?|constants?|"
    r"attributes?|parameters?|arguments?|symbols?|identifiers?|flags?|calls?|blocks?|sections?|names?|values?|keys?|"
    r"nach|vor|alles|inhalt|wort|komma|zeichen|funktion|klasse|methode|variable|konstante|namen?|wert|"
    r"après|avant|tout|contenu|mots?|virgule|fonction|m[ée]thode|constante|noms?|valeur|"
    r"despu[ée]s|antes|todo|contenido|palabra|coma|funci[oó]n|clase|m[ée]todo|nombre|valor|"
    r"dopo|prima|tutto|contenuto|parola|virgola|funzione|classe|metodo|variabile|costante|nome|valore)\b|"
    r"関数|クラス|変数|中身|内容|最後|最初|全部|以降|より後|より前|文字|名前|値",
    re.IGNORECASE,
)


def tells_of_part(said: Sentence) -> bool:
    """Returns whether a sentence names something that is less than a file or a line, or more than one line."""
    return _PART.search(without_paths(said)) is not None
