"""Statistical models that an ICD names: installed packages, or folders beside the ICD."""

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_INSIDE = ("config.cfg", "meta.json")
"""What every spaCy pipeline holds that was saved to a folder."""


class MissingModelError(Exception):
    """A model is not there; ``problem`` completes the sentence "the field ...", ``advice`` says what to do."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.advice = advice


def find_model(name: str, folder: Path) -> str:
    """Return what spaCy loads: the name of an installed package, or the absolute path of a folder.

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
    """Return what differs when a model that ``find_model`` has found is another one: version, or digest of its meta."""
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
