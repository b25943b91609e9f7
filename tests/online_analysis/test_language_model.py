from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from online_analysis import language_model
from online_analysis.language_model import SparseIdentifier, identifier
from online_analysis.private_cache import FOLDER

TEXTS = (
    "",
    "a",
    "\x00\x01",
    "The harbour was full of ships, and everybody looked at what came ashore.",
    "ALL OF THIS IS WRITTEN IN CAPITALS",
    "Die Windräder drehen sich langsam über den Feldern an der Küste.",
    "Les éoliennes tournent lentement au-dessus des champs.",
    "Ανεμογεννήτριες στη θάλασσα, κοντά στην ακτή.",
    "Привет, мир: корабли стоят в гавани.",
    "太阳能发电和风力发电",
    "日本語のテキストです。船が港にいます。",
    "שלום עולם",
    "नमस्ते दुनिया",
    "e\u0301nergie \ud800",
)


@pytest.mark.slow
def test_languages_are_told_as_by_the_whole_model(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    told = [whole.classify(text) for text in TEXTS]
    assert [identifier().classify(text) for text in TEXTS] == told
    assert identifier().labels == whole.labels
    monkeypatch.setattr(language_model, "_MAX_HELD", 3)
    assert [identifier().classify(text) for text in TEXTS] == told


@pytest.mark.slow
def test_a_model_that_is_not_whole_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    identifier.__wrapped__()
    (kept,) = (tmp_path / FOLDER).iterdir()
    content = kept.read_bytes()
    for broken in (content[:-1], content[:1000], b"", content[:500] + b"x" + content[501:]):
        path = tmp_path / "broken"
        path.write_bytes(broken)
        with path.open("rb") as file, pytest.raises(ValueError, match="model of languages"):
            SparseIdentifier(file)
    kept.write_bytes(content[:-1])
    assert identifier.__wrapped__().classify(TEXTS[3])[0] == "en"
    assert kept.read_bytes() == content
