"""The base of all sections of an ICD, and the error by which their validators reject a value."""

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A frozen part of an ICD that knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def refuse(problem: str, advice: str) -> PydanticCustomError:
    """Return the error to raise for a value; ``problem`` completes the sentence that begins with its field."""
    return PydanticCustomError("icd", "{problem}", {"problem": problem, "advice": advice})
