import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from online_analysis.aggregation import Scores, aggregate, document_score
from online_analysis.analysers import analysers
from online_analysis.document import Document, Outlink
from online_analysis.icd import Icd, IcdError
from online_analysis.plugins import guarded, versions
from online_analysis.topic import build_topic
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.documents import page

PLUGIN = """
from online_analysis.aggregation import Scores


class Loudness:
    name = "loudness"

    def __init__(self, keywords):
        self.keywords = keywords

    def analyse(self, document):
        if "crash" in document.title:
            raise ValueError("too loud")
        return Scores(self.name, min(1.0, document.title.count("!") / 4))


def loudness(icd, topic):
    return Loudness(icd.topic.keywords)


def wrong_name(icd, topic):
    return Loudness(())


def broken(icd, topic):
    raise KeyError("no licence")
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what installs a distribution with entry points into a folder on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(name: str, *entries: str) -> None:
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(PLUGIN)
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text("\n".join(["[aahcrawler.analysers]", *entries]) + "\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


def weighing(weights: str) -> Icd:
    return Icd.parse((SMALLEST + f"scoring: {{weights: {{{weights}}}}}").encode(), Path("solar.yaml"))


def mistakes_of(icd: Icd) -> list[str]:
    with pytest.raises(IcdError) as caught:
        analysers(icd, build_topic(icd, {}))
    return [str(mistake) for mistake in caught.value.mistakes]


def test_an_installed_analyser_scores_where_the_definition_weighs_it(install: Install) -> None:
    install("aah-loud", "loudness = aah_loud:loudness")
    icd = weighing("text: 1, loudness: 3")
    found = analysers(icd, build_topic(icd, {}))
    assert [each.name for each in found] == ["text", "url", "spam", "social", "application", "loudness"]
    document = page("solar power for villages", title="Now!!", links=[Outlink("https://a.test/", "there")])
    scores = [each.analyse(document) for each in found]
    assert scores[-1] == Scores("loudness", 0.5)
    text = scores[0].document
    assert text is not None
    assert document_score(scores, icd.scoring.weights) == pytest.approx((text + 3 * 0.5) / 4)
    (link,) = aggregate(document, scores, icd.scoring.weights)
    assert link.score > 0.3


def test_an_installed_analyser_is_left_out_where_the_definition_does_not_weigh_it(install: Install) -> None:
    install("aah-loud", "loudness = aah_loud:loudness")
    for weights in ("text: 1", "text: 1, loudness: 0"):
        icd = weighing(weights)
        assert "loudness" not in [each.name for each in analysers(icd, build_topic(icd, {}))]


def test_an_analyser_that_is_not_installed_is_a_mistake_of_the_definition(install: Install) -> None:
    install("aah-loud", "loudness = aah_loud:loudness")
    with pytest.raises(IcdError, match=r"solar.yaml:5: scoring.weights.loudnes: is no analyser; .*ranker, loudness"):
        weighing("text: 1, loudnes: 3")
    known = Icd.parse((SMALLEST + "scoring: {weights: {own: 3}}").encode(), analysers=("text", "url", "spam", "own"))
    (mistake,) = mistakes_of(known)
    assert "scoring.weights.own: is not installed; install the distribution" in mistake


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("missing = aah_loud_none:make", "ModuleNotFoundError"),
        ("missing = aah_loud:make", "AttributeError"),
        ("broken = aah_loud:broken", "KeyError: 'no licence'"),
        ("other = aah_loud:wrong_name", "must return an object with `analyse` and the name 'other'"),
    ],
)
def test_errors_name_the_distribution(install: Install, entry: str, problem: str) -> None:
    install("aah-loud", entry)
    (mistake,) = mistakes_of(weighing(f"text: 1, {entry.split(maxsplit=1)[0]}: 1"))
    assert mistake.startswith("solar.yaml:5: scoring.weights.")
    assert "the distribution 'aah-loud 1.5'" in mistake
    assert problem in mistake


def test_all_that_cannot_be_had_is_said_at_once(install: Install) -> None:
    install("aah-loud", "broken = aah_loud:broken", "loudness = aah_loud:loudness")
    install("aah-louder", "loudness = aah_louder:loudness")
    broken, twice = mistakes_of(weighing("broken: 1, loudness: 2"))
    assert "broken: of the distribution 'aah-loud 1.5'" in broken
    assert "loudness: is brought by the distribution 'aah-loud 1.5' and by the distribution 'aah-louder 1.5'" in twice


def test_an_analyser_that_raises_is_reported_once_and_left_out_of_the_average(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install("aah-loud", "loudness = aah_loud:loudness")
    icd = weighing("text: 1, loudness: 3")
    found = analysers(icd, build_topic(icd, {}))
    document = page("solar power", title="crash", links=[Outlink("https://a.test/", "solar")])
    with caplog.at_level(logging.ERROR):
        scores = [each.analyse(document) for each in (*found, *found)]
    assert scores[len(found) - 1] == Scores("loudness", None, (None,))
    assert document_score(scores, icd.scoring.weights) == pytest.approx(scores[0].document)
    (record,) = caplog.records
    assert "analyser loudness fails on https://forum.example.org/t/1 (ValueError: too loud)" in record.getMessage()
    assert found[-1].analyse(page("text", title="fine!")).document == 0.25


class Answering:
    """An analyser with a fixed answer."""

    name = "answering"

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def analyse(self, document: Document) -> Scores:
        assert document
        return self._answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Scores("answering", 1.5),
        Scores("answering", float("nan")),
        Scores("answering", None, (0.5, 0.5)),
        Scores("answering", None, (-0.1,)),
        Scores("answering", "high"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_is_none_is_a_failure_too(answer: object, caplog: pytest.LogCaptureFixture) -> None:
    document = page("text", links=[Outlink("https://a.test/", "")])
    with caplog.at_level(logging.ERROR):
        assert guarded(Answering(answer)).analyse(document) == Scores("answering", None, (None,))
    assert len(caplog.records) == 1


def test_a_guard_changes_nothing_of_what_is_right() -> None:
    document = page("text", links=[Outlink("https://a.test/", "")])
    guard = guarded(Answering(Scores("answering", 0.0, (1.0,))))
    assert guard.analyse(document) == Scores("answering", 0.0, (1.0,))
    assert guarded(guard) is guard
    assert guarded(Answering(Scores("by another name", 0.3))).analyse(document) == Scores("answering", 0.3)


def test_scores_depend_on_the_versions_of_what_is_installed(install: Install, tmp_path: Path) -> None:
    install("aah-loud", "loudness = aah_loud:loudness")
    assert versions(weighing("text: 1")) == versions(weighing("text: 1, loudness: 0")) == {}
    assert versions(weighing("text: 1, loudness: 3")) == {"loudness": "the distribution 'aah-loud 1.5'"}
    (tmp_path / "model").mkdir()
    for name in ("config.cfg", "meta.json"):
        (tmp_path / "model" / name).write_text("")
    text = SMALLEST.replace("keywords: [solar power]", "entities: [Freiburg]") + "scoring: {entity_model: model}"
    icd = Icd.parse(text.encode(), tmp_path / "solar.yaml")
    before = versions(icd)
    assert list(before) == ["entities"]
    (tmp_path / "model" / "meta.json").write_text("another")
    assert versions(icd) != before
