"""Which pipelines for spaCy are installed, and what they do, as their packages say: nothing of them is imported."""

import json
from collections.abc import Mapping
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MODELS: Final = "spacy_models"
"""The group of entry points in which packages announce pipelines for spaCy."""
ANY: Final = "xx"
"""The code of pipelines that read languages which have none."""
_SIZES: Final = ("_lg", "_md", "_sm")
_TAGGING: Final = frozenset({"tagger", "morphologizer"})
_LEMMATISING: Final = frozenset({"lemmatizer", "trainable_lemmatizer"})


def installed_models() -> dict[str, str]:
    """Return an installed pipeline for each language, the largest, by its code.

    The code is what the name of the package begins with, as spaCy names packages: ``en_core_web_sm``.
    """
    found = {entry.name for entry in entry_points(group=MODELS)}

    def preference(name: str) -> tuple[int, str]:
        return next((place for place, size in enumerate(_SIZES) if size in name), len(_SIZES)), name

    models: dict[str, str] = {}
    for name in sorted(found, key=preference):
        models.setdefault(name.partition("_")[0], name)
    return models


def reading_words(models: Mapping[str, str]) -> dict[str, str]:
    """Return those of some pipelines, by language, that tell parts of speech and lemmas."""

    def reads_words(model: str) -> bool:
        parts = parts_of(model)
        return not (parts.isdisjoint(_TAGGING) or parts.isdisjoint(_LEMMATISING))

    return {code: model for code, model in models.items() if code != ANY and reads_words(model)}


def parts_of(model: str) -> frozenset[str]:
    """Return the names of the components of a pipeline, a package or a folder; none where it does not say them."""
    folder = Path(model)
    if not folder.is_dir():
        found = find_spec(model)
        if found is None or found.origin is None:
            return frozenset()
        folder = Path(found.origin).parent
    try:
        return frozenset(map(str, json.loads((folder / "meta.json").read_text("utf-8"))["components"]))
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset()


def model_version(model: str) -> str:
    """Return the version of a pipeline's package; of a folder that of spaCy."""
    found = next((entry for entry in entry_points(group=MODELS, name=model) if entry.dist is not None), None)
    return found.dist.version if found is not None and found.dist is not None else version("spacy")
