"""The frontier of simulations keeps the contract of all frontiers, and does what their model does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Lease, Offer, State, Update
from offline.simulation.frontier import MemoryFrontier
from offline.simulation.politeness import Politeness
from tests.frontier.conftest import Clock
from tests.frontier.model import ModelFrontier, ModelServer
from tests.frontier.test_contract import *  # noqa: F403 - one suite, every implementation


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_frontier(clock: Clock) -> Callable[..., Frontier]:
    shared = Politeness(clock)

    def make(crawl: str = "crawl", **chosen: object) -> Frontier:
        return MemoryFrontier(shared, crawl, FrontierSettings(**chosen))  # type: ignore[arg-type]

    return make


URLS = [(f"http://{queue}/{i}", queue) for queue in ("a.test", "b.test", "c.test") for i in range(4)]
offers = st.lists(
    st.builds(
        lambda target, score, depth, kind: Offer(*target, score, depth, kind),
        st.sampled_from(URLS),
        st.sampled_from([0.0, 0.25, 0.5, 0.333333, 0.9999996, 1.0]),
        st.integers(0, 3),
        st.sampled_from(["page", "page", "requisite"]),
    ),
    max_size=5,
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["offer", "lease", "lease", "finish", "finish", "retry", "release", "wait", "recover"]),
        offers,
        st.integers(1, 5),
        st.sampled_from([0.0, 2.0, 30.0]),
    ),
    max_size=25,
)
chosen_settings = st.builds(
    FrontierSettings,
    update=st.sampled_from(list(Update)),
    balance=st.sampled_from([1, 2, 5]),
    pages=st.sampled_from([0, 0, 4]),
    pages_per_queue=st.sampled_from([0, 0, 2]),
    lease_seconds=st.just(30.0),
    attempts=st.sampled_from([1, 2]),
    connections=st.sampled_from([1, 1, 2]),
)


def step(frontier: Frontier, leases: Sequence[Lease], what: str, given: tuple[Sequence[Offer], int, float]) -> object:
    links, number, seconds = given
    if what == "offer":
        return frontier.offer(links)
    if what == "lease":
        return frontier.lease("worker", number)
    if what == "recover":
        return frontier.recover()
    if leases and what == "finish":
        state = (State.DONE, State.FAILED, State.BLOCKED)[number % 3]
        return frontier.finish(leases[-number % len(leases)], state, delay=seconds, links=links)
    if leases and what == "retry":
        return frontier.retry(leases[-number % len(leases)], delay=seconds)
    if leases and what == "release":
        return frontier.release(leases[-number:])
    return None


def seen(frontier: Frontier) -> object:
    return frontier.counts(), frontier.queue_counts(), frontier.iterate(20), frontier.next_ready()


@settings(max_examples=150, deadline=None)
@given(chosen=chosen_settings, course=steps)
def test_any_course_of_operations_goes_as_in_the_model(
    chosen: FrontierSettings, course: Sequence[tuple[str, Sequence[Offer], int, float]]
) -> None:
    clock = Clock()
    frontiers: tuple[Frontier, Frontier] = (
        MemoryFrontier(Politeness(clock), "crawl", chosen),
        ModelFrontier(ModelServer(clock), "crawl", chosen),
    )
    leases: tuple[list[Lease], list[Lease]] = ([], [])
    for what, *given_to_it in course:
        if what == "wait":
            clock.now += given_to_it[2]
        answers = [
            step(frontier, out, what, tuple(given_to_it))  # type: ignore[arg-type]
            for frontier, out in zip(frontiers, leases, strict=True)
        ]
        if what == "lease":
            for answer, out in zip(answers, leases, strict=True):
                out.extend(answer)  # type: ignore[arg-type]
            assert [replace(lease, token="") for lease in leases[0]] == [replace(x, token="") for x in leases[1]]
        else:
            assert answers[0] == answers[1]
        assert seen(frontiers[0]) == seen(frontiers[1])
