"""What a crawl does not wait for when it starts."""

import subprocess
import sys

from scrapy.settings import Settings

from aahcrawler.crawl.scrapy.crawl_settings import apply
from aahcrawler.crawl.scrapy.run import project_settings

LATER = (
    "aahcrawler.adaptation",
    "aahcrawler.browser.browser",
    "aahcrawler.browser.network.recording_proxy",
    "aahcrawler.report",
    "aahcrawler.takedown",
    "aahcrawler.wrapper_induction",
    "aiohttp",
    "fsspec",
    "h11",
    "requests",
    "scipy",
    "sklearn",
    "spacy",
    "tldextract",
    "trafilatura",
    "wordfreq",
)
"""Modules that most crawls need late, or never."""
REMOTE_CONTROL = "scrapy.extensions.remote_control.RemoteControl"
TELNET = "scrapy.extensions.telnet.TelnetConsole"


def test_modules_that_are_needed_late_are_imported_late() -> None:
    code = "import sys, aahcrawler.cli, aahcrawler.crawl.scrapy.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = done.stdout.split()
    assert "scrapy" in imported
    assert [name for name in imported if name in LATER] == []


def test_help_waits_for_nothing_that_reads_pages() -> None:
    code = "import sys, aahcrawler.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    readers = ("aahcrawler.page.", "aahcrawler.helper.", "aahcrawler.induction.", "lxml.", "scrapy.")
    assert [name for name in done.stdout.split() if name.startswith(readers)] == []


def set_up(**given: object) -> Settings:
    settings = project_settings()
    settings.setdict(given, priority="cmdline")
    apply(settings)
    return settings


def test_extensions_that_do_not_run_are_not_imported() -> None:
    settings = set_up()
    named = settings.get_component_priority_dict_with_base("EXTENSIONS")
    assert "scrapy.extensions.closespider.CloseSpider" in named
    assert REMOTE_CONTROL not in named
    assert TELNET not in named
    assert REMOTE_CONTROL not in settings.getdict("EXTENSIONS")


def test_extensions_that_somebody_asks_for_run() -> None:
    settings = set_up(EXTENSIONS={REMOTE_CONTROL: 5}, TELNETCONSOLE_ENABLED=True)
    named = settings.get_component_priority_dict_with_base("EXTENSIONS")
    assert named[REMOTE_CONTROL] == 5
    assert TELNET in named
