"""Pages without a history lean on those like them, on what sitemaps state, and on their addresses."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from aahcrawler.revisits.rate_priors import Ground, KnownPage, RatePrior, address_features, learned_priors
from aahcrawler.revisits.revisit_policies import DEFAULT_BOUNDS, JumpingRate, PageVisit, no_prior, rate_levels


def visited(found: str, days: float = 7.0) -> tuple[PageVisit, ...]:
    return tuple(PageVisit(days, each == "1") for each in found)


def prior_of(page: KnownPage, others: Iterable[KnownPage] = ()) -> RatePrior:
    return learned_priors([page, *others], DEFAULT_BOUNDS)[0]


def first_days(prior: RatePrior) -> float:
    return JumpingRate(DEFAULT_BOUNDS, prior=prior.chances).days


def usual_days(prior: RatePrior) -> float:
    """Return the geometric mean of the days between changes."""
    return math.exp(-float(prior.shares @ np.log(rate_levels(DEFAULT_BOUNDS))))


NEWS = [KnownPage("a.test", "a.test /news", visits=visited("1111"))] * 5
LEGAL = [KnownPage("a.test", "a.test /legal", visits=visited("0000"))] * 5


def test_a_page_that_nobody_has_seen_again_is_as_pages_like_it() -> None:
    news = prior_of(KnownPage("a.test", "a.test /news"), [*NEWS, *LEGAL])
    legal = prior_of(KnownPage("a.test", "a.test /legal"), [*NEWS, *LEGAL])
    other = prior_of(KnownPage("a.test", "a.test /about"), [*NEWS, *LEGAL])
    foreign = prior_of(KnownPage("b.test", "b.test /"), [*NEWS, *LEGAL])
    assert [each.ground for each in (news, legal, other, foreign)] == [
        Ground.TEMPLATE, Ground.TEMPLATE, Ground.SITE, Ground.ALL,
    ]  # fmt: skip
    assert usual_days(news) < usual_days(other) < usual_days(legal)
    assert first_days(news) < 7 < first_days(legal)


def test_no_page_is_evidence_for_itself() -> None:
    alone = KnownPage("a.test", "a.test /news", visits=visited("1" * 20))
    prior = prior_of(alone)
    assert prior.ground is Ground.NOTHING
    assert prior.chances == pytest.approx(no_prior(DEFAULT_BOUNDS))


def test_the_more_siblings_the_more_they_say() -> None:
    page = KnownPage("a.test", "a.test /legal")
    days = [usual_days(prior_of(page, LEGAL[:1] * number)) for number in (1, 3, 10, 100)]
    assert days == sorted(days)
    assert days[-1] > 2 * days[0]


def test_siblings_tell_whether_a_page_is_steady_or_has_bursts() -> None:
    random = np.random.default_rng(6)
    steady = ["".join("1" if random.random() < 0.4 else "0" for _ in range(60)) for _ in range(10)]
    bursts = [("0" * number + "1" * 6) * 4 for number in range(5, 15)]
    weights = [
        prior_of(KnownPage("a.test", "t"), [KnownPage("a.test", "t", visits=visited(each)) for each in histories])
        for histories in (steady, bursts, [])
    ]
    of_steady, of_bursts, of_nobody = (float(prior.weights[-1]) for prior in weights)
    assert of_bursts < 0.2 < of_nobody < 0.7 < of_steady
    assert all(prior.chances.sum() == pytest.approx(1) for prior in weights)


def test_a_sitemap_is_believed_until_visits_show_that_it_is_wrong() -> None:
    days = [first_days(prior_of(KnownPage("a.test", "", stated=word))) for word in ("daily", "weekly", "yearly")]
    assert days[0] < days[1] < days[2]
    stale = [KnownPage("a.test", "", visits=visited("00000"), stated="daily")] * 20
    prior = prior_of(KnownPage("a.test", "", stated="daily"), stale)
    assert prior.ground is Ground.STATED
    assert first_days(prior) > 10 * days[0]


def test_a_page_that_had_been_the_same_for_long_waits_longer() -> None:
    new, old = (prior_of(KnownPage("a.test", "", age=age)) for age in (1.0, 700.0))
    assert new.ground is old.ground is Ground.DATES
    assert first_days(old) > 4 * first_days(new)


def test_a_feed_changes_as_often_as_it_has_entries() -> None:
    assert usual_days(prior_of(KnownPage("a.test", "", listed=(61, 60.0)))) == pytest.approx(1, rel=0.2)
    assert usual_days(prior_of(KnownPage("a.test", "", listed=(21, 600.0)))) == pytest.approx(30, rel=0.2)


def addressed(random: np.random.Generator, folders: Sequence[str]) -> list[KnownPage]:
    """Return pages of many sites, of which those under ``/live/`` change daily and others seldom."""
    pages = []
    for number in range(400):
        folder = folders[number % len(folders)]
        chance = 0.99 if folder == "live" else 0.02
        found = "".join("1" if random.random() < chance else "0" for _ in range(3))
        url = f"http://{number}.test/{folder}/{number}"
        pages.append(KnownPage(f"{number}.test", "", address_features(url), visited(found)))
    return pages


def test_addresses_are_asked_where_they_foretell_something() -> None:
    random = np.random.default_rng(5)
    pages = addressed(random, ["live", "texts"])
    live, texts = (KnownPage("x.test", "", address_features(f"http://x.test/{name}/9")) for name in ("live", "texts"))
    alike = addressed(random, ["x", "y"])
    assert usual_days(prior_of(live, pages)) < usual_days(prior_of(texts, pages)) / 5
    assert usual_days(prior_of(live, alike)) == pytest.approx(usual_days(prior_of(texts, alike)), rel=0.5)


def test_addresses_hold_what_may_tell_and_stay_bounded() -> None:
    features = address_features("http://a.test/" + "x" * 5000 + "/~ann/page_2.html?id=1;b,c%20")
    assert {"type html", "depth 3", "sign ~", "sign _", "sign ?", "sign ;", "sign ,", "sign %"} <= set(features)
    assert max(map(len, features)) < 60
    assert address_features("http://[") == ()
