"""Who may manage a crawl in the cockpit, and what is handed out there."""

import io
import tarfile

import pytest

from aahcrawler.layout import ARCHIVE
from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import OPERATOR, READER, Cockpit
from tests.cockpit.shown_crawl import CRAWL

HERE = f"/crawls/{CRAWL}"
FILES = ("archive.tar", "report.html", "pages.csv", "objects.csv")


def test_who_reads_is_shown_no_form_and_changes_nothing(shown: Cockpit) -> None:
    cookie = shown.entered(READER)
    page = shown.ask("GET", f"{HERE}/manage", Cookie=f"{COOKIE}={cookie}").body.decode()
    assert f'action="{HERE}/manage/' not in page
    for act in ("describe", "copy", "delete"):
        sent = {"secret": shown.form_secret(cookie), "title": "x", "confirm": CRAWL}
        assert shown.post(f"{HERE}/manage/{act}", sent, cookie).status == 403
    assert (shown.place / CRAWL).is_dir()


def test_a_crawl_is_not_deleted_by_another_name(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    for confirm in ("", "show", CRAWL.upper()):
        sent = {"secret": shown.form_secret(cookie), "confirm": confirm}
        assert shown.post(f"{HERE}/manage/delete", sent, cookie).status == 409
    assert (shown.place / CRAWL).is_dir()


@pytest.mark.parametrize("name", FILES)
def test_files_are_saved_and_not_shown_and_for_those_who_are_signed_in(shown: Cockpit, name: str) -> None:
    assert shown.ask("GET", f"{HERE}/files/{name}").headers["location"] == "/sign-in"
    answer = shown.ask("GET", f"{HERE}/files/{name}", Cookie=f"{COOKIE}={shown.entered(READER)}")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_tar_file_has_the_whole_archive(shown: Cockpit) -> None:
    answer = shown.ask("GET", f"{HERE}/files/archive.tar", Cookie=f"{COOKIE}={shown.entered(READER)}")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        sizes = {name.rpartition("/")[2]: tar.getmember(name).size for name in tar.getnames()}
    assert sizes == {path.name: path.stat().st_size for path in (shown.place / CRAWL / ARCHIVE).glob("*.warc.gz")}


@pytest.mark.parametrize("name", ["..%2fcrawl.log", "%2e%2e%2f%2e%2e%2fservice-log.jsonl", "none.warc.gz"])
def test_no_other_file_is_handed_out(shown: Cockpit, name: str) -> None:
    answer = shown.ask("GET", f"{HERE}/files/warc/{name}", Cookie=f"{COOKIE}={shown.entered(READER)}")
    assert answer.status in (400, 404)
