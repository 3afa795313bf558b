"""The type of the arguments of a tool whose parameters are a JSON Schema (TOOL-15)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, GetJsonSchemaHandler, JsonValue, RootModel, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

MAX_BYTES = 100_000
"""Of the arguments as JSON: a program gets them as one argument of its command line."""


class Given(RootModel[dict[str, JsonValue]]):
    """Arguments by name, as `parameters` has them."""

    parameters: ClassVar[Mapping[str, JsonValue]] = {}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        from jsonschema import Draft202012Validator
        from referencing import Registry

        if len(self.model_dump_json()) > MAX_BYTES:
            raise PydanticCustomError("too_long", "they are longer than {most} bytes", {"most": MAX_BYTES})
        # An empty registry: nothing that a schema refers to is fetched.
        validator = cast(Any, Draft202012Validator)(dict(self.parameters), registry=cast(Any, Registry)())
        problem = next(validator.iter_errors(self.root), None)
        if problem is not None:
            where = "" if problem.json_path == "$" else f"`{problem.json_path.removeprefix('$.')}`: "
            raise PydanticCustomError("of_schema", "{said}", {"said": f"{where}{problem.message}"[:300]})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return dict(cls.parameters)


def arguments_of(name: str, parameters: Mapping[str, JsonValue]) -> type[BaseModel]:
    """Returns the type of a tool's arguments."""
    return type(f"Given_{name}", (Given,), {"parameters": parameters, "__module__": __name__})


def as_json(arguments: BaseModel) -> str:
    """Returns arguments as a program gets them: one line, keys in the order of the call."""
    return json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)
