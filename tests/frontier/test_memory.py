"""The frontier of simulations keeps the contract of all frontiers, and does what their model does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.memory.frontier import MemoryFrontier, QueueSlots
from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Lease, Offer, Outcome, Rescore, State, Update
from tests.frontier.conftest import Clock
from tests.frontier.model import ModelFrontier, ModelServer
from tests.frontier.test_contract import *  # noqa: F403 - one suite, every implementation


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_frontier(clock: Clock) -> Callable[..., Frontier]:
    shared = QueueSlots(clock)

    def make(crawl: str = "crawl", **chosen: object) -> Frontier:
        return MemoryFrontier(shared, crawl, FrontierSettings(**chosen))  # type: ignore[arg-type]

    return make


URLS = [(f"http://{queue}/{i}", queue) for queue in ("a.test", "b.test", "c.test") for i in range(4)]
offers = st.lists(
    st.builds(
        lambda target, score, depth, kind: Offer(target[0], target[1], score, depth, kind),
        st.sampled_from(URLS),
        st.sampled_from([0.0, 0.25, 0.5, 0.333333, 0.9999996, 1.0]),
        st.integers(0, 3),
        st.sampled_from(["page", "page", "requisite"]),
    ),
    max_size=5,
)
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["offer", "rescore", "lease", "lease", "finish", "finish", "retry", "release", "wait", "recover"]
        ),
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


Step = tuple[str, Sequence[Offer], int, float]


def step(frontier: Frontier, leases: Sequence[Lease], taken: Step) -> object:
    what, links, number, seconds = taken
    if what == "offer":
        return frontier.offer(links)
    if what == "rescore":
        return frontier.rescore([Rescore(link.url, link.score) for link in links])
    if what == "recover":
        return frontier.recover()
    if leases and what == "finish":
        state = (State.DONE, State.FAILED, State.BLOCKED)[number % 3]
        return frontier.finish(leases[-number % len(leases)], state, Outcome(delay=seconds), links)
    if leases and what == "retry":
        return frontier.retry(leases[-number % len(leases)], Outcome(delay=seconds))
    if leases and what == "release":
        frontier.release(leases[-number:])
    return None


def seen(frontier: Frontier) -> object:
    return frontier.counts(), frontier.queue_counts(), frontier.iterate(20), frontier.next_ready()


@pytest.mark.slow
@given(chosen=chosen_settings, course=steps)
def test_any_course_of_operations_goes_as_in_the_model(chosen: FrontierSettings, course: Sequence[Step]) -> None:
    clock = Clock()
    memory, model = (
        MemoryFrontier(QueueSlots(clock), "crawl", chosen),
        ModelFrontier(ModelServer(clock), "crawl", chosen),
    )
    leases: tuple[list[Lease], list[Lease]] = ([], [])
    for taken in course:
        if taken[0] == "wait":
            clock.now += taken[3]
        elif taken[0] == "lease":
            leases[0].extend(memory.lease("worker", taken[2]))
            leases[1].extend(model.lease("worker", taken[2]))
            assert [replace(lease, token="") for lease in leases[0]] == [
                replace(lease, token="") for lease in leases[1]
            ]
        else:
            assert step(memory, leases[0], taken) == step(model, leases[1], taken)
        assert seen(memory) == seen(model)
