"""Values in an ICD, and secrets that it only refers to: in an environment variable, or in a private file.

An ICD never contains a secret, because it is printed, stored beside the archive and sent to workers: it names the
environment variable or file with the secret on each machine.
"""

import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_serializer, model_validator

from online_analysis.icd.mistakes import Section, refuse

MAX_SECRET: Final = 100_000
"""The most bytes of a file with a secret."""
HOW_TO_GIVE_ONE: Final = (
    "write {env: NAME}, a variable of the environment, or {file: /whole/path}, a file that you alone may read"
)


class PrivateFileError(Exception):
    """Raised for a file that is not private enough for a secret; the message continues a sentence "the file ..."."""


class SecretError(Exception):
    """Raised when a secret cannot be read; ``problem`` continues "the secret ...", ``advice`` is the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"the secret {problem}; {advice}")
        self.problem = problem
        self.advice = advice


def _whole_path(path: str) -> str:
    if not path.startswith(("/", "~/")):
        raise refuse("is no whole path", "write one that begins with / or ~/: workers elsewhere look there too")
    return path


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name):
        raise refuse("is no name of a variable", "write the name alone, such as FORUM_PASSWORD, without $")
    return name


WholePath = Annotated[str, Field(max_length=1000), AfterValidator(_whole_path)]
"""The path of a file on any machine on which the ICD is used."""


class Value(Section):
    """A value written in the ICD, or in an environment variable or a file. Exactly one of the three is given."""

    text: str | None = Field(default=None, max_length=4000)
    env: Annotated[str, AfterValidator(_variable)] | None = Field(default=None, examples=["FORUM_PASSWORD"])
    file: WholePath | None = Field(default=None, examples=["~/.forum-password"])

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_them(self) -> "Value":
        if sum(each is not None for each in (self.text, self.env, self.file)) != 1:
            raise refuse("names no value, or several", "write a text, {env: NAME} or {file: /whole/path}")
        return self

    @model_serializer
    def _written(self) -> Any:
        if self.text is not None:
            return self.text
        return {"env": self.env} if self.env is not None else {"file": self.file}

    @property
    def is_secret(self) -> bool:
        """Whether the value is stored outside of the ICD."""
        return self.text is None

    def reveal(self) -> str:
        """Return the value as it is on this machine now. Raises ``SecretError``."""
        if self.text is not None:
            return self.text
        return _of_variable(self.env) if self.env is not None else _of_file(self.file or "")


class Secret(Value):
    """A value that is never written into an ICD."""

    @model_validator(mode="after")
    def _not_here(self) -> "Secret":
        if self.text is not None:
            raise refuse("is a secret in plain text", f"{HOW_TO_GIVE_ONE}; change the secret if others saw it")
        return self


def private_content(path: str, most: int = MAX_SECRET) -> bytes:
    """Return at most ``most`` bytes of a file that nobody else may read. Raises ``PrivateFileError``."""
    try:
        with Path(path).expanduser().open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PrivateFileError("is no file")
            if status.st_mode & 0o077:
                raise PrivateFileError(f"others may read (its mode is {stat.S_IMODE(status.st_mode):04o}, not 0600)")
            found = file.read(most + 1)
    except OSError as error:
        raise PrivateFileError(f"cannot be read here ({error.strerror})") from None
    if len(found) > most:
        raise PrivateFileError("is too large for a secret")
    return found


def _of_variable(name: str) -> str:
    found = os.environ.get(name, "")
    if not found:
        advice = f"set {name} for the process that crawls, on each machine with a worker"
        raise SecretError(f"is in the variable {name}, which is not set here", advice)
    return found


def _of_file(path: str) -> str:
    try:
        found = private_content(path).decode("utf-8").rstrip("\r\n")
    except (PrivateFileError, UnicodeDecodeError) as error:
        problem = str(error) if isinstance(error, PrivateFileError) else "is no text in UTF-8"
        advice = "make the file on each machine with a worker, and keep it to yourself: chmod 600"
        raise SecretError(f"is in the file {path}, which {problem}", advice) from None
    if not found:
        raise SecretError(f"is in the file {path}, which is empty", "write the secret into it")
    return found
