"""What a person can get wrong in the newer parts of a file: each with its line and what to write instead."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from knowledge_base.loader import LoadError
from knowledge_base.xml_reader import Problem
from tests.knowledge_base.full_application import FULL, line_of, load_texts
from tests.pace import at_most

VALUE = '<value name="next" parameter="from" text="0" add="20"/>'
RUN_IDENTITY = '<identity fields="author date"/>'


def problems(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(LoadError) as caught:
        load_texts(tmp_path, text)
    return [(problem.line, problem.message) for problem in caught.value.problems]


MISTAKES = [
    ('icd="keywords"', 'icd="words"', "write keywords or entities"),
    ("from={next}", "from={next}{last}", 'add <value name="last" .../>'),
    (VALUE, VALUE + '<value name="last" text="9"/>', "the value last is used nowhere"),
    (VALUE, VALUE + VALUE, "2 values are named next"),
    (VALUE, VALUE.replace("/>", ' css="a" each="yes"/>'), 'next and word all say each="yes"'),
    (VALUE, '<value name="next"/>', "comes from nowhere"),
    (VALUE, '<value name="next" text="1" attribute="href"/>', "write css or xpath beside it"),
    (VALUE, '<value name="next" css="a" xpath="//a"/>', "write either css or xpath"),
    (VALUE, '<value name="next" css="a..b"/>', "no CSS selector"),
    (VALUE, '<value name="next" parameter="from" icd="keywords"/>', "parameter and icd stand here together"),
    (VALUE, '<value name="next" css="a" parameter="from"/>', "css and parameter stand here together"),
    (VALUE, '<value name="next" text="one" add="1"/>', "one is none"),
    (VALUE, '<value name="next" icd="keywords" add="1"/>', "hold words"),
    (VALUE, '<value name="next" parameter="from" add="one"/>', "A whole number of at most nine digits"),
    ('icd="keywords" each="yes"', 'parameter="word" each="yes"', "several; write css, xpath or icd"),
    ("from={next}", "from={next", "a brace has no partner"),
    ("from={next}", "from={next}#top", "no blanks and no #"),
    ('"/api.php?', '"http://{next}.example/?', "only behind the host"),
    ('"/api.php?', '"ftp://a.example/?', "starts with a slash"),
    ('"/api.php?', '"javascript:f?', "starts with a slash"),
    ('<when css="#app"/>', "<when/>", "this sign is empty"),
    ('css="form.search"', "", "write either css or xpath"),
    ('css="form.search"', 'css="form" xpath="//form"', "write either css or xpath"),
    ('<navigate name="others" to="talk"><select css="a.other"/></navigate>', '<navigate name="others" to="talk"/>',
     "leads nowhere"),
    ('<navigate name="feeds" to="list">', '<navigate name="feeds">', "to= must say"),
    ('<navigate name="feeds" to="list">', '<navigate name="feeds" to="lists">', "the levels are list, talk"),
    ('<navigate name="lists"><select', '<navigate name="lists" when-none="nothing"><select', "no action of this level"),
    ('<navigate name="lists"><select', '<navigate name="comments"><select', "an extract action of this level"),
    ('<use level="list" action="pages"/>', '<use level="list" action="page"/>', "it has more, pages"),
    ('<use level="list" action="pages"/>', '<pages name="lists"/>', "write <navigate>"),
    ('<use level="list" action="pages"/>', '<pages name="talk-pages"/>', "add <paging>"),
    ('<use level="list" action="pages"/>', '<navigate name="feeds"><select css="a"/></navigate>', "rename one"),
    ('<extract name="comments">', '<extract name="others">', "write <navigate>"),
    ('<extract name="comments">', '<extract name="page">', "so type must stand here"),
    ('<extract name="comments">', '<extract name="comments" type="photo">', "its types are"),
    ('<extract name="comments">', '<extract name="comments" many="no">', "a run makes several objects"),
    ('type="comment" many="yes"', 'type="comment"', "a run makes several objects"),
    (RUN_IDENTITY, "<identity/>", 'fields="author date"'),
    (RUN_IDENTITY, '<identity fields="author time"/>', "time, which is no field here"),
    ('<parent trim="c">', '<parent trim="c" fields="author">', "it can have trim, prefix"),
    ('<signature css="a.user"/>', "", "at this place comes <block> or <signature>"),
    ('<block css="p"/>', "<block/>", "write either css or xpath"),
    ('<block css="p"/>', '<block css="p" attribute="id"/>', "it can have css, xpath, cite"),
    ('declared="headline name"', "", "nothing says where title stands"),
    ('declared="headline name"', 'declared="headline name" join="yes"', "take join out"),
    ('declared="headline name"', 'declared="head-line"', "Names of schema.org properties"),
    ('first-only="yes" declared="headline name"', 'declared="name"', 'first-only="yes"'),
    ('declared="headline name"/>', 'declared="name"><without css="b"/></field>', "take <without> out"),
    ('many="yes"><select css=".tag"/>', 'many="yes" join="yes"><select css=".tag"/>', "keep one of them"),
    ('host="www.Wiki.Example"', 'host="https://wiki.example"', "the name alone"),
    ('host="www.Wiki.Example"', 'host="wiki.example/talk"', "the name alone"),
    ('host="www.Wiki.Example"', 'host="wiki.*"', "the name alone"),
    ('host="www.Wiki.Example"', 'host="*."', "the name alone"),
    ('host="www.Wiki.Example"', 'host="wiki example"', "letters, digits"),
    ('host="www.Wiki.Example"', 'host="wiki.example:port"', "letters, digits"),
    ('host="www.Wiki.Example"', 'host="wiki.example" path="/wiki/**"', "exactly one of"),
    ('host="www.Wiki.Example"', 'host="wiki.example" generator="Wiki"', "exactly one of"),
    ('literal="index.php"', "", "add literal="),
    ("**/list-#.php", "**/list-1#.php", "whole number"),
    ("list/#-*", "list/##-*", "whole number"),
    ('query="list/#-*"', 'query="?list/#-*"', "take the first sign out"),
    ('parameters="view=app"', 'parameters="view=#1"', "whole number"),
    ("**/list-#.php", "**/list.php?id=#", 'parameters="id=#"'),
    ('value="#"', 'value="#0"', "whole number"),
    ('path="**/index.php" query="edit/*"', "", "refuse every URL"),
    ('<needs-browser css="#app" parameters="view=app"/>', "<needs-browser/>", "this sign is empty"),
    ('<ignore css="a.unwritten"/>', "<ignore/>", "write either css or xpath"),
    ('<ignore css="a.unwritten"/>', '<ignore css="a[" />', "no CSS selector"),
    ('whole-host="yes"', 'whole-host="true"', "write yes or no"),
    ('whole-host="yes"', 'draft="true"', "write yes or no"),
    ("map-{page}.xml", "map-{number}.xml", "{page} alone"),
    ("map-{page}.xml", "map-{page.xml", "{page} alone"),
    ("map-{page}.xml", "map {page}.xml", "no blanks and no #"),
    ("map-{page}.xml", "https://wiki.example/map-{page}.xml", "on the application's own site"),
    ("map-{page}.xml", "//wiki.example/map-{page}.xml", "on the application's own site"),
    ("map-{page}.xml", "map.xml", "step is for listings of several pages"),
    ('from="0" step="50"', 'from="0" step="0"', "step at least 1"),
    ('from="0" step="50"', 'from="-1"', "from is at least 0"),
    ('from="0" step="50"', 'from="first"', "A whole number"),
    ('order="oldest-first"', 'order="newest-first"', "write oldest-first"),
    ('<listings when-none="more">', '<listings when-none="others">', "they have more, pages"),
    ('kind="sitemap"', 'kind="map"', "write sitemap, feed or page"),
    ('kind="sitemap" address="map-{page}.xml" from="0" step="50" order="oldest-first"',
     'kind="page" address="map-{page}.xml"', "everything at once"),
    ('listing name="index"', 'listing name="pages"', "rename one"),
    ('<when css=".second"/>', "", "at this place comes <when>"),
    ('<when css=".second"/>', '<wehn css=".second"/>', "did you mean <when>?"),
    ('<when css=".second"/>', '<when ccs=".second"/>', "did you mean css?"),
    ('<when css=".second"/>', '<when css=""/>', "Text that is not empty"),
    ('<when css=".second"/>', '<when css=".second">x</when>', "<!-- -->"),
    ('<when css=".second"/>', '<nothing/>', "there is no element <nothing>; at this place comes <when>"),
    ('<variant name="second">', "<variant>", 'write name="..."'),
    ('level name="talk"', 'level name="list"', "rename one"),
    ('role="terminal"', 'role="final"', "write intermediate or terminal"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong", "says"), MISTAKES)
def test_each_mistake_is_named_with_its_line(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    found = problems(tmp_path, FULL.replace(right, wrong, 1))
    line = line_of(FULL, right)
    near = [message for at, message in found if abs(at - line) <= 1]
    assert any(says in message for message in near), found


def test_listings_need_a_level_to_start_at(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, FULL.replace(' start="yes"', ""))
    assert found[0] == line_of(FULL, "<listings when")
    assert "nothing says what listings are relative to" in found[1]


def test_a_mistake_that_a_variant_takes_over_is_named_once(tmp_path: Path) -> None:
    found = problems(tmp_path, FULL.replace(RUN_IDENTITY, ""))
    assert [line for line, _ in found] == [line_of(FULL, '<extract name="comments" type')]
    assert "a run makes several objects" in found[0][1]


def test_a_variant_says_something_and_has_a_name_of_its_own(tmp_path: Path) -> None:
    empty = '<variant name="second"><when css=".third"/></variant>'
    found = problems(tmp_path, FULL.replace("    </variant>\n", "    </variant>\n" + empty + "\n"))
    assert [line for line, _ in found] == [line_of(FULL, "</variant>") + 1] * 2
    assert any("changes nothing" in message for _, message in found)
    assert any("another variant named second" in message for _, message in found)


def test_a_file_must_say_something_of_its_pages(tmp_path: Path) -> None:
    detect = '<detect><pattern host="a.example" strength="proof"/></detect>'
    bare = f'<application name="A" kind="wiki">{detect}{{}}</application>'
    assert "add a <level>" in problems(tmp_path, bare.format(""))[0][1]
    application = load_texts(tmp_path, bare.format('<needs-browser css="#app"/>')).application("A")
    assert application.levels == ()


ODD = ["", " ", "x", "{", "a b", "#", "*", "[", "../..", "-1", "yes", "no", "//*[", "\u00e9", "comments", "list", "1#"]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.lists(st.sampled_from(ODD), min_size=1, max_size=3))
def test_whatever_is_written_loads_or_is_refused_with_lines(tmp_path: Path, seed: int, odd: list[str]) -> None:
    chance = random.Random(seed)
    root = etree.fromstring(FULL.encode())
    for text in odd:
        element = chance.choice([*root.iter("*")])
        parent = element.getparent()
        change = chance.randrange(4)
        if change == 0 and parent is not None:
            parent.remove(element)
        elif change == 1 and parent is not None:
            parent.insert(parent.index(element), etree.fromstring(etree.tostring(element, with_tail=False)))
        elif element.attrib:
            name = chance.choice(sorted(element.attrib))
            if change == 2:
                del element.attrib[name]
            else:
                element.set(name, text)
    with at_most(2):
        try:
            load_texts(tmp_path, etree.tostring(root, encoding="unicode"))
            refusal: tuple[Problem, ...] | None = None
        except LoadError as error:
            refusal = error.problems
        assert refusal is None or all(problem.message and problem.line >= 0 for problem in refusal)
        assert refusal != ()
