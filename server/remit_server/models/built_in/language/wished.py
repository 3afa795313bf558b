"""Tells whether a sentence wishes for something now, or only mentions it in a question, a report, a refusal or a
condition (MOD-23). Pure.

A rule that took a sentence of the second kind by its words would do what nobody asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace

from remit_server.models.built_in.language.sentences import WISHES, Sentence, trimmed, without_courtesy, without_paths
from remit_server.models.built_in.language.words import says

_STILL_ASKS_FOR = re.compile(
    r"(?:how|what) about\b|would you mind\b|why (?:don't|dont) (?:you|we)\b|wie w[äa]r'?s?\b|can we (?:get|have)\b|"
    r"come (?:prima|ultima) riga\b|how (?:do|can) (?:i|we) (?:undo|revert)\b",
    re.IGNORECASE,
)
"""Matches a wish that has the form of a question."""
_ASKS = re.compile(
    r"(?:can|could|should|shall|may|might|must|would|will) (?:i|it|this|that|he|she|they|there)\b|"
    r"should we\b|(?:do|does|did|have|has|had|is|are|was|were) (?:i|we|you|he|she|it|they|the|there|this|that)\b|"
    r"(?:kann|darf|soll|sollte|muss|habe|hast|hat) (?:ich|man|du|er|sie|das)\b|¿|[cs]hould\b.*\bor\b|"
    r"(?:puedo|debo|deber[ií]a) |(?:posso|devo|dovrei) |(?:puis-je|dois-je|faut-il|peut-on)\b",
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(
    r"(?:how|why|when|should|shall|can (?:i|we)|do i|warum|wie|wann|soll|kann ich|"
    r"comment(?! (?:out|line))|pourquoi|c[oó]mo|por qu[eé]|"
    r"come|perch[eé])\b",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"(?:i|we|you|he|she|they|it|somebody|someone|nobody|a \w+|my \w+) (?:already|just|have (?!to\b)|had (?!to\b)|"
    r"has (?!to\b)|did|didn't|was|were|will|won't|can't|cannot|couldn't|set|changed|replaced|renamed|deleted|removed|"
    r"added|moved|created|put|ran|run|used?|said|say|says|told|tells|made|tried|don't know|get|got|see|saw)\b|"
    r"(?:i|we|you|he|she|they)(?:'d| would) (?!like|love)|"
    r"(?:it|this|that) (?:used to|would|might|could|looks?|seems?|says?)\b|"
    r"(?:ich|wir|du|er|sie|man|jemand) (?:habe?n?|hatten?|hat|hast|bin|sind|wurden?|benutz\w+|nutz\w+|werden?)\b|"
    r"(?:j'ai|j'avais|tu as|il a|elle a|on a|nous avons|ils ont) |(?:ya )?(?:he|hemos|han|hab[ií]a) \w+[aiá]do\b|"
    r"(?:ho|hai|abbiamo|hanno|avevo) \w+[aiu]to\b|\w+ (?:failed|fails)\b|the changes?\b|changes between\b|"
    r"\w+ing (?:after|before|above|below)\b|\w+s (?:above|below|after|before) \d",
    re.IGNORECASE,
)
"""Matches the beginning of a sentence that reports what was or is."""
_REPORTS_WITHIN = re.compile(
    r"\b(?:has been|have been|had been|used to|as far as i know|just kidding|i mean|no,? wait|wait,? no|"
    r"on second thought|dry run|one day|some ?day|eventually|tomorrow|next (?:week|time|month|year)|in the future|"
    r"without (?:actually|really)|ach nein|rather (?:you|not)|i'd rather|"
    r"for example|wurden?|a été|ont été|ha sido|han sido|è stat[oa])\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"(?:(?:never|(?:don['’]?t|do not)(?! (?:need|like))|nie|niemals|jamais|nunca|mai)\b|"
    r"non (?!serve|[èe]\b|si usa|ci serve)|"
    r"no (?!longer|more|se |hace falta|necesit)|ne |n['’](?!est plus))",
    re.IGNORECASE,
)
"""Matches the beginning of a sentence that forbids something."""
_FORBIDS_WITHIN = re.compile(
    r"\b(?:(?<!\bto )never (?!liked|used|needed)|niemals|jamais|nunca|(?:bitte |doch |mal )nicht\b)|"
    r"\binstead of (?:deleting|removing|replacing|renaming|changing|adding|moving)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:only (?:if|when|after|once)|(?<!me )(?<!see )(?<!check )if|"
    r"unless|until|once|as soon as|except|but|wenn|falls|sobald|nachdem|au(?:ß|ss)er|"
    r"aber|sauf|mais|quand|dès que|cuando|salvo|pero|hasta|quando|tranne)\b|, (?:after|before|ma|wait|no)\b",
    re.IGNORECASE,
)
"""Words that bind a wish to a condition, which no rule checks, or that take a part of the wish back."""
_AND = re.compile(
    r"(?:\b(?:and|then|plus|und|dann|et|puis|y|luego|e|poi)\b|[;,.!])\s*(?:then |also |please |dann |auch |bitte )?"
    r"(?:run|commit|push|delete|remove|rename|replace|add|insert|move|create|update|fix|write|test|deploy|sort|format|"
    r"clean|check|make|set|change|use|drop|lösche?|ersetze?|füge?|führe?|benenne?|setze?|supprime|remplace|ajoute|lance|"
    r"renomme|mets|borra|reemplaza|añade|ejecuta|elimina|renombra|pon|sostituisci|aggiungi|esegui|rinomina|cancella)\b"
    r"(?! (?:it|this|that|them|those|sie|ihn|es)\b)",
    re.IGNORECASE,
)
_AND_RUN = re.compile(
    r"\w.*\b(?:and|then|und|dann|et|puis|y|luego|e|poi)\b (?:also )?"
    r"(?:run|execute|f[üu]hr\w*|starte?|lance|ex[ée]cute|ejecuta|corre|esegui|lancia)\b",
    re.IGNORECASE,
)
_AND_THEN = re.compile(
    r"\b(?:and then|and after that|and afterwards|und dann|und danach|et (?:puis|ensuite)|y (?:luego|despu[ée]s)|"
    r"e (?:poi|dopo))\b|[てでし]、\s*\S",
    re.IGNORECASE,
)
"""Words that introduce another wish, whatever the first one is."""
_AND_SO_ON = re.compile(
    r"\band (?:something|the same|similar(?:ly)?|likewise|so on|stuff|such)\b|"
    r"\bund (?:so weiter|[äa]hnliche?s?|dasselbe)\b",
    re.IGNORECASE,
)
"""Words for a second wish that nobody could carry out by rules."""
_IN_JAPANESE = re.compile(
    r"(?:した|しました)(?!い)|済み|ないで|るな|な$|いけ|だめ|ダメ|べき|もいい|もよい|とどう|のは|理由|方法|誰|なぜ|たら|れば|以降|てから|あとで|した後|の方|だけ|のみ|説明|"
    r"やっぱり|やめて|そのままに|待って|取り消し"
)
_STILL_IN_JAPANESE = re.compile(r"(?:もらえ|くれ|いただけ|頂け)|ませんか|なければならない|したい")


def is_wished(said: Sentence, *, answers: bool = False) -> bool:
    """Returns whether a sentence wishes for something to be done now. If doing it `answers` a question, then a question
    counts as a wish too, unless it asks how or whether to do it."""
    short = without_courtesy(said.bare)
    if _STILL_ASKS_FOR.match(short):
        return True
    polite = short != trimmed(said.bare)
    plainly = said.text.rstrip().endswith(("?", "？")) and not polite
    asks = _ASKS_HOW.match(short) if answers else plainly or _ASKS.match(short) or says("asking", short)
    tells = _REPORTS.match(short) or _REPORTS_WITHIN.search(short)
    forbids = _FORBIDS.match(short) or _FORBIDS_WITHIN.search(short)
    japanese = _IN_JAPANESE.search(short) and not _STILL_IN_JAPANESE.search(short)
    return not (asks or tells or forbids or japanese or _LATER.search(short))


def wishes_twice(said: Sentence) -> bool:
    """Returns whether a sentence has a second wish, which a rule would leave undone. "in a.py, delete line 3" has only
    one."""
    if any(found.search(said.bare) for found in (_AND_THEN, _AND_RUN, _AND_SO_ON)):
        return True
    bare = without_paths(replace(said, bare=without_courtesy(said.bare)))
    return any(any(says(idea, bare[: found.start()]) for idea in (*WISHES, "sets")) for found in _AND.finditer(bare))
