"""Tables that users write, checked by pydantic; an error in one is reported as an `InputError` of one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.core.errors import MOST_COUNT, InputError, shown
from equipoise.core.wording import did_you_mean

Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]

_MESSAGES = {  # by pydantic's type of error; the names in braces are those of its context
    "model_type": "not a table",
    "model_attributes_type": "not a table",
    "dict_type": "not a table",
    "extra_forbidden": "unknown key",
    "missing": "must be given",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be more than {gt:,}",
    "greater_than_equal": "must be at least {ge:,}",
    "less_than": "must be less than {lt:,}",
    "less_than_equal": "must be at most {le:,}",
    "too_short": "must have at least {min_length:,} values",
    "too_long": "must have at most {max_length:,} values",
    "string_too_short": "must have at least {min_length:,} characters",
    "string_too_long": "must have at most {max_length:,} characters",
}


class CheckedModel(BaseModel):
    """A frozen table. Unknown keys are refused, and types are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=CheckedModel)


def check_table(
    model: type[Model],
    table: Mapping[str, Any],
    where: str,
    remedy: str,
    *,
    remedies: Mapping[str, str] | None = None,
    elements: Mapping[str, Sequence[str]] | None = None,
) -> Model:
    """The checked table, or an `InputError` for the first thing that is wrong.

    `remedies` replace `remedy` for some top keys; `elements` are the names by which users know the elements of lists.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
    path = list(first["loc"])
    names = (elements or {}).get(str(path[0]), ()) if path else ()
    key = ".".join(map(str, [names[int(path[1])], *path[2:3]] if names and len(path) > 1 else path[:2]))
    message = problem(first)
    if first["type"] == "extra_forbidden":
        remedy = did_you_mean(str(path[-1]), _model_at(model, path[:-1]).model_fields)
    else:
        remedy = (remedies or {}).get(str(path[0]), remedy) if path else remedy
        message += f" (got {shown(first['input'])})" if isinstance(first["input"], (str, int, float)) else ""
    raise InputError(f"{key}: {message}" if key else message, where=where, remedy=remedy)


def problem(details: Mapping[str, Any]) -> str:
    """What pydantic found wrong, in our words: `must be a number`."""
    message = _MESSAGES.get(details["type"])
    if message is None:
        text = str(details["msg"]).removeprefix("Value error, ")
        return text.replace("Input should be", "must be", 1)
    limits = details.get("ctx", {}).items()
    return message.format(
        **{name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in limits}
    )


def _model_at(model: type[CheckedModel], path: Sequence[int | str]) -> type[CheckedModel]:
    """The model of the table that a path leads to."""
    for part in path:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return model


def _model_in(annotation: Any) -> type[CheckedModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, CheckedModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
