"""Pages with names that XML does not allow, for libraries that would fail on them."""

from lxml.etree import tostring

from aahcrawler.page.markup import as_xml_allows
from tests.page.building import page_of


def test_names_that_nobody_can_name_are_left_out_with_all_others_that_xml_does_not_allow() -> None:
    page = page_of('<p {="x" id=k a"b=1 {}y=2>The ferry <o:p title=t>leaves</o:p></p>')
    _, allowed = as_xml_allows(page.tree)
    assert tostring(next(allowed.iter("body"))) == b'<body><p id="k">The ferry <span title="t">leaves</span></p></body>'
