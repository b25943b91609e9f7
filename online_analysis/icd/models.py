"""Statistical models that an ICD names: installed packages, or folders beside the ICD."""

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_INSIDE = ("config.cfg", "meta.json")
"""The files in every spaCy pipeline that was saved to a folder."""


class MissingModelError(Exception):
    """Raised for a missing model; ``problem`` completes the sentence "the field ...", ``advice`` tells the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.advice = advice


def find_model(name: str, folder: Path) -> str:
    """Return the argument for spaCy's loader: the name of an installed package, or the absolute path of a folder.

    Whether it loads is not tried: importing spaCy takes seconds. Raise MissingModelError where there is neither.
    """
    try:
        place = (folder / name).resolve()
        if place.is_dir():
            return _checked(name, place)
    except (OSError, ValueError):
        pass
    try:
        distribution(name)
    except (PackageNotFoundError, ValueError):
        advice = f"run `python -m spacy download {name}`, or name the folder of a trained pipeline"
        raise MissingModelError(f"the model '{name[:100]}' is not installed", advice) from None
    return name


def model_version(name: str) -> str:
    """Return the version of a model that ``find_model`` has found, or else a digest of its meta data."""
    place = Path(name)
    try:
        if place.is_absolute():
            return hashlib.sha256((place / "meta.json").read_bytes()).hexdigest()
        return distribution(name).version
    except (OSError, PackageNotFoundError):
        return ""


def _checked(name: str, place: Path) -> str:
    if all((place / file).is_file() for file in _INSIDE):
        return str(place)
    problem = f"the folder '{name}' holds no spaCy pipeline"
    raise MissingModelError(problem, "name a folder that `nlp.to_disk` has written, with config.cfg and meta.json")
