"""Dry runs of drafts: seeds are told of as they are tried, and nothing of this machine is reached by a text."""

from collections.abc import Iterator

import pytest

from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.steering.seed_trials import SeedTrials, TrialView
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.service.web.roles import LOCAL
from online_analysis.icd import Icd
from tests.crawl.crawling import until
from tests.crawl.site import Site, html, links, serving
from tests.service.forked_crawls import crawls_forked

DRAFT = """\
id: draft
contact: test@example.org
seeds: ["{url}", "{url}missing"]
topic: {{keywords: [harbour]}}
output: {output}
network: {{allow_private: [127.0.0.0/8]}}
politeness: {{delay: 0 s}}
"""


@pytest.fixture
def trials() -> Iterator[SeedTrials]:
    opened = SeedTrials(lambda: KnowledgeFolders.of(None))
    with crawls_forked():
        yield opened
        opened.close()


def ended(trials: SeedTrials, name: str) -> TrialView:
    until(lambda: trials.trial(name).is_over)
    return trials.trial(name)


def test_each_seed_of_a_draft_is_told_of(trials: SeedTrials) -> None:
    with serving(Site({"/": html("Harbour", links("/a", "/b"))})) as site:
        text = DRAFT.format(url=site.url, output="/nowhere/at/all")
        found = ended(trials, trials.begin(LOCAL, Icd.parse(text.encode()), text))
    assert found.of == 2
    assert {each.verdict: each.gives for each in found.seeds} == {"fetched": True, "not found": False}
    assert next(each for each in found.seeds if each.gives).followed == 2
    assert found.problem == ""


def test_what_reaches_the_machine_s_own_files_is_not_tried(trials: SeedTrials) -> None:
    text = DRAFT.format(url="http://site.test/", output="out") + "archive: {target: file:///etc}\n"
    with pytest.raises(ProblemError, match=r"archive\.target"):
        trials.begin(LOCAL, Icd.parse(text.encode()), text)


def test_a_dry_run_that_is_not_known_is_told(trials: SeedTrials) -> None:
    with pytest.raises(ProblemError, match="no such dry run"):
        trials.trial("another")
