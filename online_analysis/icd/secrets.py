"""Secrets that an ICD names and does not hold: in a variable of the environment, or in a file of the user's alone."""

import os
import stat
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

LARGEST = 10_000
"""Bytes that a file with a secret may have."""
_ADVICE = "write {env: NAME} or {file: PATH}; the secret itself does not belong into an ICD"


class SecretError(Exception):
    """A secret cannot be had; ``problem`` completes the sentence "the secret ...", ``advice`` tells the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"the secret {problem}; {advice}")
        self.problem = problem
        self.advice = advice


class Secret(BaseModel):
    """Where a secret is. Neither its representation nor what is written of it holds the secret itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    env: str = Field(default="", max_length=200, pattern=r"^[A-Za-z_0-9]*$", examples=["PROXY_PASSWORD"])
    file: str = Field(default="", max_length=1000, examples=["proxy.secret"])

    @model_validator(mode="before")
    @classmethod
    def _no_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise PydanticCustomError("icd", "{problem}", {"problem": "is written out", "advice": _ADVICE})
        return value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.env) == bool(self.file):
            problem = {"problem": "needs one place, a variable or a file", "advice": _ADVICE}
            raise PydanticCustomError("icd", "{problem}", problem)
        return self

    def reveal(self) -> str:
        """Return the secret, as it is now. Raise ``SecretError``."""
        return _of_variable(self.env) if self.env else _of_file(Path(self.file))


def private_file_problem(path: Path) -> str:
    """Say why a file may not hold a secret, in words that complete "the file ..."; empty where it may.

    Raise ``OSError`` for one that cannot be looked at.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        return "is no file"
    return "may be read by others" if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) else ""


def _of_variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise SecretError(f"is not in the variable {name}", f"set {name} in the environment of the crawl")
    return value


def _of_file(path: Path) -> str:
    try:
        problem = private_file_problem(path)
        if problem:
            raise SecretError(f"is in {path}, which {problem}", f"run: chmod 600 {path}")
        with path.open(encoding="utf-8") as file:
            value = file.read(LARGEST + 1).rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no UTF-8 text"
        raise SecretError(f"cannot be read from {path} ({why})", "name a file that you may read") from None
    if not value or len(value) > LARGEST:
        raise SecretError(f"in {path} is empty or too long", "write the secret into its first line")
    return value
