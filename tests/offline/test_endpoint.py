"""What passes between the loader and a store over HTTP, and what is said when it does not pass."""

import re
import socket
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offline.store.endpoint import ATTEMPTS, LEDGER, Endpoint, HttpError, _sparql
from offline.store.loading import LoadError, load
from tests.offline.crawls import segments_of, write_threads
from tests.offline.endpoints import DROP, DROP_AFTERWARDS, Stub, endpoint
from tests.offline.test_loading import in_segments, in_store


def loaded(crawl: Path, stub: Stub) -> list[float]:
    """Load a crawl; return for how long was waited between attempts."""
    waits: list[float] = []
    with Endpoint(f"{stub.url}/update", f"{stub.url}/query", waits.append) as service:
        load(crawl, service)
    return waits


@pytest.mark.parametrize("trouble", [429, 500, 502, 503, 504, DROP, DROP_AFTERWARDS])
def test_a_moments_trouble_is_waited_for(tmp_path: Path, trouble: int) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub:
        stub.troubles = [trouble, trouble]
        assert loaded(tmp_path, stub) == [0.5, 1.0]
        assert in_store(stub.rdf) == in_segments(tmp_path)


def test_a_store_is_given_the_time_it_asks_for(tmp_path: Path) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub:
        stub.troubles, stub.retry_after = [503], "7"
        assert loaded(tmp_path, stub) == [7.0]
        stub.rdf.clear()
        stub.troubles, stub.retry_after = [503], "86400"
        assert loaded(tmp_path, stub) == [30.0]


def test_trouble_that_stays_is_told_and_later_gone_on_from(tmp_path: Path) -> None:
    for begin in range(0, 40, 10):
        write_threads(tmp_path, range(begin, begin + 10))
    with endpoint() as stub:
        stub.troubles = [204, 204] + [503] * ATTEMPTS
        with pytest.raises(LoadError, match=r"answered 503.*\"trouble\"; given up after 6 attempts\. Load again"):
            loaded(tmp_path, stub)
        assert len(stub.updates) == 2
        loaded(tmp_path, stub)
        assert len(stub.updates) == 4
        assert in_store(stub.rdf) == in_segments(tmp_path)


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "does not understand"), (401, "user:password"), (413, "raise its limit"), (301, "redirect")],
)
def test_a_refusal_is_final_and_told(tmp_path: Path, status: int, words: str) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub:
        stub.troubles = [status]
        with pytest.raises(LoadError, match=rf"http://127\.0\.0\.1:\d+/update: answered {status}.*{words}"):
            loaded(tmp_path, stub)
        assert stub.troubles == []
        assert not stub.updates


def test_a_wrong_address_is_told(tmp_path: Path) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub:
        with (
            Endpoint(f"{stub.url}/else") as service,
            pytest.raises(LoadError, match=r"/else: answered 404.*\"No such serv"),
        ):
            load(tmp_path, service)
        with (
            Endpoint(f"{stub.url}/update") as service,
            pytest.raises(LoadError, match=r"answered 415.*another for queries"),
        ):
            load(tmp_path, service)


def test_what_answers_no_results_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub, Endpoint(f"{stub.url}/update", f"{stub.url}/query") as service:
        monkeypatch.setattr(service._queries, "post", lambda *_: b"<html>Welcome</html>")
        with pytest.raises(LoadError, match="did not answer a query with SPARQL results in JSON"):
            load(tmp_path, service)


@pytest.mark.parametrize("address", ["localhost:7878", "ftp://a.test/", "http://", "http://[::1", "http://a.test:x/"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(HttpError, match="write one such as"):
        Endpoint(address)


def test_nobody_there(tmp_path: Path) -> None:
    write_threads(tmp_path, range(3))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    waits: list[float] = []
    with (
        Endpoint(f"http://jo:secret@127.0.0.1:{port}/update", "", waits.append) as service,
        pytest.raises(LoadError, match=r"cannot be reached .*is it running") as raised,
    ):
        load(tmp_path, service)
    assert "secret" not in str(raised.value)
    assert len(waits) == ATTEMPTS - 1


def test_user_and_password_are_sent_as_the_address_has_them(tmp_path: Path) -> None:
    write_threads(tmp_path, range(3))
    with endpoint() as stub:
        address = stub.url.replace("//", "//jo:s%40cret@")
        with Endpoint(f"{address}/update", f"{address}/query") as service:
            load(tmp_path, service)
        assert set(stub.authorizations) == {"Basic am86c0BjcmV0"}


def test_large_segments_go_in_batches_and_each_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offline.store.endpoint._BATCH", 20_000)
    monkeypatch.setattr("offline.store.endpoint._STATEMENTS", 50)
    write_threads(tmp_path, range(100))
    with endpoint() as stub:
        loaded(tmp_path, stub)
        assert len(stub.updates) > 20
        assert all(update.count("\n") < 200 for update in stub.updates)
        notes = list(stub.rdf.quads_for_pattern(None, None, None, ox.NamedNode(LEDGER)))
        assert [str(note.object).split('"')[1] for note in notes] == [str(segments_of(tmp_path)[0].stat().st_size)]
        assert in_store(stub.rdf) == in_segments(tmp_path)


@given(st.text(alphabet=st.sampled_from("\\uU0041\"'\n\r\t {}.é\U0001f6b2")))
def test_any_text_means_the_same_in_an_update(text: str) -> None:
    store = ox.Store()
    store.update(f"INSERT DATA {{ <urn:s> <urn:p> {_sparql(str(ox.Literal(text)))} }}")
    assert [quad.object for quad in store] == [ox.Literal(text)]


@given(st.text(alphabet=st.sampled_from('\\uU0041"\n')))
def test_a_store_that_replaces_escapes_first_reads_the_same(text: str) -> None:
    escaped = _sparql(str(ox.Literal(text)))
    assert re.sub(r"\\u00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), escaped) == str(ox.Literal(text))
