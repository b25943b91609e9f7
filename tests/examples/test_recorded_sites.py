import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from benchmarks import recorded
from tests.crawl.crawling import until
from tests.recorded_site import recorded_site


def write_site(folder: Path) -> recorded.RecordedSite:
    """Write a site of one page and one post in the recorded-site format."""
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "1.html").write_text("<p>Words that were written.</p>")
    page = {"url": "http://a.test/", "file": "pages/1.html", "status": 200, "content_type": "text/html", "headers": []}
    level = {"url": "http://a.test/", "level": "terminal", "kind": "post", "objects": 1}
    post = {"id": "1", "url": "http://a.test/", "kind": "post", "title": "T", "author": None, "date": None}
    (folder / "index.jsonl").write_text(json.dumps(page))
    (folder / "pages.jsonl").write_text(json.dumps(level))
    (folder / "truth.jsonl").write_text(
        json.dumps(post | {"body": "Words that were written.", "shown": {"title": True}})
    )
    (folder / "site.json").write_text("{}")
    return recorded.RecordedSite(folder.parent.name, folder.name, folder)


def test_only_folders_with_an_index_are_sites(tmp_path: Path) -> None:
    site = write_site(tmp_path / "app" / "theme")
    (tmp_path / "app" / "empty").mkdir()
    assert recorded.find_sites(tmp_path) == (site,)
    assert site.name == "app/theme"
    assert recorded.find_sites(tmp_path / "nowhere") == ()


def test_absence_of_all_sites_is_said_with_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(recorded, "UNPACKED", tmp_path / "unpacked")
    with pytest.raises(recorded.NoRecordedSitesError, match="shared"):
        recorded.recorded_sites()


def test_absent_sites_skip_or_fail_as_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(recorded, "UNPACKED", tmp_path / "unpacked")
    monkeypatch.setenv(recorded.REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="requires them"):
        recorded_site("wordpress/twentytwentyone")
    monkeypatch.delenv(recorded.REQUIRED)
    with pytest.raises(pytest.skip.Exception):
        recorded_site("wordpress/twentytwentyone")


def test_archives_are_unpacked_whole_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tarfile

    write_site(tmp_path / "source" / "app" / "theme")
    (tmp_path / "shared" / "app").mkdir(parents=True)
    with tarfile.open(tmp_path / "shared" / "app" / "theme.tar.xz", "w:xz") as tar:
        tar.add(tmp_path / "source" / "app" / "theme", "app/theme")
    monkeypatch.setattr(recorded, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(recorded, "UNPACKED", tmp_path / "unpacked")
    site = recorded.recorded_site("app/theme")
    assert (site.folder / "pages" / "1.html").exists()
    (site.folder / "kept").touch()
    assert recorded.recorded_sites() == (site,)
    assert (site.folder / "kept").exists()
    assert not list((tmp_path / "unpacked").glob(".unpacking-*"))
    with pytest.raises(recorded.NoRecordedSitesError, match="app/theme"):
        recorded.recorded_site("app/other")


def test_a_recorded_site_is_served_logged_and_scored(tmp_path: Path) -> None:
    site = recorded_site("pelican/simple")
    log = tmp_path / "requests.jsonl"
    with recorded.start_site(site, log=log) as served:
        with urllib.request.urlopen(served.url) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{served.url}nowhere").close()
        with urllib.request.urlopen(f"{served.control}__status") as answer:
            assert json.load(answer)["requests"] == 2
        until(lambda: log.read_text("utf-8").count("\n") == 2)  # A request is counted before it is logged.
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(served.url)
    truth = [json.loads(line) for line in (site.folder / "truth.jsonl").read_text().splitlines()]
    objects = tmp_path / "objects.jsonl"
    objects.write_text("".join(json.dumps(row) + "\n" for row in truth[: len(truth) // 2]))
    scored = recorded.score(site, objects, requests=log)
    assert scored["page_requests"] == 2
    assert scored["precision"] == 1
    assert scored["recall"] == pytest.approx(0.5, abs=0.01)


def test_a_scorer_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    site = write_site(tmp_path / "app" / "theme")
    scorer = tmp_path / "score.py"
    scorer.write_text("raise SystemExit('no such column')")
    with pytest.raises(recorded.SiteServerError, match="no such column"):
        recorded.score(site, tmp_path / "objects.jsonl", scorer=scorer)


def test_a_server_that_does_not_start_is_an_error_with_its_words(tmp_path: Path) -> None:
    site = write_site(tmp_path / "app" / "theme")
    (tmp_path / "serve.py").write_text("raise SystemExit('no snapshot here')")
    with pytest.raises(recorded.SiteServerError, match="no snapshot here"), recorded.start_site(site):
        pass
