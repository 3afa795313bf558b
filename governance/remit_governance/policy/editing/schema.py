"""What may stand at each place of a file, read from the pydantic forms that judge it: of a policy, unless another form
is named (POL-14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remit_governance.policy.language.action_form import ActionForm
from remit_governance.policy.language.document import Place
from remit_governance.policy.language.policy_form import PolicyForm


@dataclass(frozen=True, slots=True)
class Slot:
    """One place: the mapping that stands there, or the words that may; `many` where it is a list of them.

    A place that takes any word has neither.
    """

    form: type[BaseModel] | None = None
    words: tuple[str, ...] = ()
    many: bool = False


WHOLE = Slot(PolicyForm)


def slot_at(place: Place, whole: Slot = WHOLE) -> Slot | None:
    """Finds what the forms say of a place in a file that is `whole`; None for one that they do not know."""
    slot = whole
    for part in place:
        if isinstance(part, int):
            if not slot.many:
                return None
            slot = replace(slot, many=False)
            continue
        field = fields_of(slot.form).get(part) if slot.form is not None and not slot.many else None
        if field is None:
            return None
        slot = _slot_of(field.annotation)
    return slot


def fields_of(form: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """The fields of a form by the key that a file spells them with."""
    return {field.alias or name: field for name, field in form.model_fields.items()}


def _slot_of(annotation: Any) -> Slot:
    leaves = list(_leaves(annotation, many=False))
    forms = [leaf for leaf, _ in leaves if isinstance(leaf, type) and issubclass(leaf, BaseModel)]
    # Only examples are free mappings, and each of those is an action.
    form = forms[0] if forms else ActionForm if any(get_origin(leaf) is dict for leaf, _ in leaves) else None
    words = tuple(word for leaf, _ in leaves for word in _words(leaf))
    return Slot(form, words, any(many for _, many in leaves))


def _leaves(annotation: Any, many: bool) -> Iterator[tuple[Any, bool]]:
    """The types that an annotation is made of, each with whether it stands in a tuple."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None or origin is Literal or origin is dict:
        yield annotation, many
        return
    if hasattr(annotation, "__metadata__"):
        arguments = arguments[:1]
    for argument in arguments:
        if argument not in (type(None), Ellipsis):
            yield from _leaves(argument, many or origin is tuple)


def _words(leaf: Any) -> Iterator[str]:
    if get_origin(leaf) is Literal:
        yield from map(str, get_args(leaf))
    elif isinstance(leaf, type) and issubclass(leaf, Enum):
        yield from (str(member.value) for member in leaf)
    elif leaf is bool:
        yield from ("true", "false")
