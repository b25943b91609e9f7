"""A test's browser shows pages, or says what is missing."""

import pytest
from playwright.sync_api import Browser

from tests import browsing


def test_chromium_shows_a_page(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<title>Bicycles</title><p>Text")
    assert page.title() == "Bicycles"
    page.close()


@pytest.mark.parametrize(("runs_for_all", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_chromium_tests_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, runs_for_all: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("AAH_CHROMIUM", "/nowhere/chromium")
    monkeypatch.setenv("CI", runs_for_all)
    with pytest.raises(outcome, match="install Debian's package chromium"):
        browsing.chromium_executable()
