"""Signs that any software may show are told from those that one software has."""

import pytest

from aahcrawler.editor.drafting.web_commonplaces import commonplace_in, is_commonplace
from knowledge_base.model import Pattern, Signal, Strength
from knowledge_base.selectors import compile_selector
from tests.shipped import shipped


@pytest.mark.parametrize(
    ("signal", "value"),
    [
        (Signal.LINK, "static/css/styles.css"),
        (Signal.LINK, "favicon.ico"),
        (Signal.LINK, "images/apple-touch-icon-precomposed.png"),
        (Signal.LINK, "vendor/font-awesome/css/fontawesome.min.css"),
        (Signal.SCRIPT, "assets/js/jquery-ui.min.js"),
        (Signal.SCRIPT, "static/js/main.bundle.js"),
        (Signal.SELECTOR, "#content div.comment-body"),
        (Signal.SELECTOR, "body#home"),
        (Signal.SELECTOR, "i.fa-reply"),
        (Signal.SELECTOR, "//a[contains(@href, 'github.com')]"),
        (Signal.COOKIE, "PHPSESSID"),
        (Signal.COOKIE, "laravel_session"),
        (Signal.COOKIE, "connect.sid"),
        (Signal.COOKIE, "sessionid"),
        (Signal.GENERATOR, "Microsoft FrontPage"),
    ],
)
def test_what_every_site_has_is_a_commonplace(signal: Signal, value: str) -> None:
    assert is_commonplace(signal, value)


@pytest.mark.parametrize(
    ("signal", "value"),
    [
        (Signal.LINK, "static/spirit/stylesheets/styles.css"),
        (Signal.LINK, "tinyforum/skin.css"),
        (Signal.SCRIPT, "quillpress.js"),
        (Signal.SELECTOR, "body.tf-page"),
        (Signal.SELECTOR, "//a[contains(@href, 'github.com/someone/quill')]"),
        (Signal.COOKIE, "_quill_session"),
        (Signal.GENERATOR, "TinyForum"),
    ],
)
def test_names_of_a_software_are_none(signal: Signal, value: str) -> None:
    assert not is_commonplace(signal, value)


def test_header_fields_are_judged_by_their_names() -> None:
    assert is_commonplace(Signal.HEADER, "PHP/8.1", "X-Powered-By")
    assert is_commonplace(Signal.HEADER, "hit", "X-Cache-Status")
    assert not is_commonplace(Signal.HEADER, "", "X-Quill-Version")
    assert not is_commonplace(Signal.HEADER, "Quill", "X-Generator")


def test_the_reason_is_said_of_a_pattern() -> None:
    common = Pattern(Signal.SELECTOR, Strength.STRONG, "", selector=compile_selector(css="div.post-content"))
    own = Pattern(Signal.LINK, Strength.HINT, "", "tinyforum/skin.css")
    assert "other software has the same" in commonplace_in(common)
    assert commonplace_in(own) == ""


def test_proofs_of_known_software_are_no_commonplaces() -> None:
    proofs = [
        (application.name, pattern)
        for application in shipped().applications
        for pattern in application.patterns
        if pattern.strength is Strength.PROOF
    ]
    assert [(name, pattern.key) for name, pattern in proofs if commonplace_in(pattern)] == []
