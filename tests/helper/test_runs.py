"""Comments of talk pages, which are no elements, made into elements."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement, fragment_fromstring, tostring

from aahcrawler.helper.extraction.runs import MAX_RUNS, run_items
from aahcrawler.page import dates, text
from knowledge_base.model import Run
from knowledge_base.selectors import compile_selector

NOW = datetime(2026, 11, 21, tzinfo=UTC)
RUN = Run(
    blocks=(compile_selector(css="p, dd, dt, li, pre, blockquote, div, table, td, th"),),
    signature=(compile_selector(css="a[title*=':'], a.selflink, .unsigned"),),
    stops=(compile_selector(css="h1, h2, h3, .headline, .heading, .toc"),),
)


def user(name: str) -> str:
    return f'<a href="/wiki/User:{name}" title="User:{name}">{name}</a>'


def signed(name: str, time: str = "10:00") -> str:
    talk = f'<a href="/w/index.php?title=User_talk:{name}&amp;action=edit" title="User talk:{name} (no page)">talk</a>'
    return f"{user(name)} ({talk}) {time}, 5 May 2023 (UTC)"


def page(content: str) -> HtmlElement:
    return fragment_fromstring(content, create_parent="div")


def runs(content: str) -> list[HtmlElement]:
    return run_items([page(content)], RUN, NOW)


def author(item: HtmlElement) -> str:
    parts = item.cssselect(".signature .signed")
    return str(parts[0].text_content()) if parts else item.get("data-author") or ""


def body(item: HtmlElement) -> str:
    return text.plain_text(item[0])


def read(content: str) -> list[tuple[str, str]]:
    return [(author(item), body(item)) for item in runs(content)]


def test_a_run_ends_with_its_signature() -> None:
    content = (
        f"<p>Newts have</p><p>four legs. — {signed('Ada')}\n</p><p>And a tail. --{signed('Bob')}</p><p>Indeed.</p>"
    )
    assert read(content) == [("Ada", "Newts have\nfour legs."), ("Bob", "And a tail.")]


def test_attributes_tell_depth_heading_date_and_parent() -> None:
    content = (
        "<h2><span class='headline'>Legs</span><span>[edit]</span></h2>"
        f"<p>One {signed('Ada')}</p>"
        f"<dl><dd>Two {signed('Bob')}<dl><dd>Three {signed('Cy')}</dd></dl></dd>"
        f"<dd>Four {signed('Di', '9:05')}</dd></dl>"
        f"<p>Five {signed('Ada')}</p><div class='heading'><h3>Tails</h3></div><dl><dd>Six {signed('Bob')}</dd></dl>"
    )
    items = runs(content)
    assert [item.get("data-depth") for item in items] == ["0", "1", "2", "1", "0", "1"]
    assert [item.get("data-parent") for item in items] == [None, "0", "1", "0", None, None]
    assert [item.get("data-heading") for item in items] == ["Legs"] * 5 + ["Tails"]
    assert [item.get("data-first") for item in items] == ["yes", None, None, None, None, "yes"]
    assert items[3].get("data-date") == "9:05, 5 May 2023 (UTC)"
    assert [body(item) for item in items] == ["One", "Two", "Three", "Four", "Five", "Six"]


def test_what_indentation_cannot_hold_does_not_make_a_reply_a_comment_of_its_own() -> None:
    code = "<dl><dd><dl><dd>Try this:</dd></dl></dd></dl><pre>ls</pre>"
    items = runs(f"<p>One {signed('Ada')}</p>{code}<dl><dd><dl><dd>{signed('Bob')}</dd></dl></dd></dl>")
    assert [item.get("data-depth") for item in items] == ["0", "2"]
    assert (items[1].get("data-parent"), body(items[1])) == ("0", "Try this:\nls")


def test_a_block_that_holds_replies_has_only_its_own_content() -> None:
    content = f"<ul><li>Mine: {signed('Ada')}<ul><li>Yours {signed('Bob')}</li></ul>late words</li></ul>"
    assert read(content) == [("Ada", "Mine:"), ("Bob", "Yours")]


def test_what_holds_no_signature_is_copied_whole() -> None:
    table = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
    (item,) = runs(f"{table}<ul><li>x<ul><li>y</li></ul></li></ul><p>See <i>there</i>. {signed('Ada')}</p>")
    assert table.encode() in tostring(item)
    assert body(item) == "a b\nc\nx\ny\nSee there."
    assert item.get("data-depth") == "0"


def test_several_signatures_in_one_block() -> None:
    content = f"<p>One<br>more {signed('Ada')}<br>Two {signed('Bob')}<br>PS: nothing</p><p>Three {signed('Cy')}</p>"
    assert read(content) == [("Ada", "One\nmore"), ("Bob", "Two"), ("Cy", "Three")]


def test_unsigned_blocks_belong_to_nobody_before_a_stop() -> None:
    content = (
        f"<p>Banner</p><div class='toc'><ul><li>Legs</li></ul></div><h2>Legs</h2><p>One {signed('Ada')}</p><p>Lost</p>"
    )
    assert read(content + "<h2>Tails</h2>" + f"<p>Two {signed('Bob')}</p>") == [("Ada", "One"), ("Bob", "Two")]


def test_quoted_signatures_sign_nothing() -> None:
    content = f"<p>He wrote:</p><blockquote><p>No! {signed('Bob')}</p></blockquote><p>Why? {signed('Ada')}</p>"
    assert [name for name, _ in read(content)] == ["Ada"]
    assert "No!" in body(runs(content)[0])


def test_the_one_who_signs_is_the_last_one_linked() -> None:
    assert read(f"<p>I agree with {user('Bob')}, {signed('Ada')}</p>") == [("Ada", "I agree with Bob,")]
    assert read(f"<p>See {user('Bob')}.</p><p>{user('Bob')} was right in May 2023, they say. {signed('Ada')}</p>") == [
        ("Ada", "See Bob.\nBob was right in May 2023, they say.")
    ]


@pytest.mark.parametrize(
    "signature",
    [
        f"<span style='color:red'><b>{user('Ada')}</b></span><sup>{user('Ada')}</sup> 10:00, 5 May 2023 (UTC)",
        f"<small><i>{signed('Ada')}</i></small>",
        f"<small class='unsigned'>Unsigned words of {signed('Ada')}</small>",
        f"<small>(unsigned <a href='/wiki/Help:Sign' title='Help:Sign'>words</a> of {signed('Ada')})</small>",
        '<a href="/wiki/User:Ada" title="User:Ada"><img src="/flag.png"/></a>' + signed("Ada"),
        '<a href="/wiki/Special:Contributions/Ada" title="Special:Contributions/Ada">Ada</a> 10:00, 5 May 2023 (UTC)',
        f"({user('Ada')} 10:00, 5 May 2023 (UTC))",
        f"{signed('Ada')}<span class='buttons'><span>[</span><a href='#'>reply</a><span>]</span></span>",
        f"{signed('Ada')} <span><span>Reply</span></span>",
        f"{user('Ada')} <a href='#c-Ada' title='in 2023: May'>10:00, 5 May 2023 (UTC)</a><span data-end=''></span>",
        "Ada 10:00, 5 May 2023 (UTC)",
        '<a class="selflink">Ada</a> 10:00, 5 May 2023 (UTC)',
        f'{user("Ada")} (<a class="selflink">my page</a>) 10:00, 5 May 2023 (UTC)',
        f"{signed('Ada')} and this, for what I said before was neither true nor <i>kind</i> to anybody who reads it.",
    ],
)
def test_forms_of_signatures(signature: str) -> None:
    content = f"<p>Word <b>by</b> word -- {signature}</p>"
    (item,) = runs(content)
    assert (author(item), body(item)) == ("Ada", "Word by word")
    assert dates.parse(item.get("data-date", ""), now=NOW) == datetime(2023, 5, 5, 10, 0, tzinfo=UTC)


def test_a_signature_within_markup_that_holds_the_words_too() -> None:
    (item,) = runs(f"<p><small>Words <i>and words, {user('Ada')}</i> 10:00, 5 May 2023 (UTC)</small> [reply]</p>")
    assert (author(item), body(item)) == ("Ada", "Words and words,")
    assert text.plain_text(item[1]) == "Ada 10:00, 5 May 2023 (UTC) [reply]"


def test_a_comment_in_parentheses_is_no_introduction_of_its_signature() -> None:
    assert read(f"<p><small>(Just a thought, {signed('Ada')})</small></p>") == [("Ada", "(Just a thought,")]


@pytest.mark.parametrize(
    "words",
    [
        f"{user('Ada')} said so in May.",
        f"{user('Ada')} was here on 5 May 2023",
        f"{user('Ada')} explains that. -- 10:00, 5 May 2023 (UTC)",
        f"{user('Ada')} came at 10:00, 5 May 2023 (UTC), as everybody knows and nobody denies, and left again.",
        "it was 10:00, 5 May 2023 (UTC)",
        f"{user('Ada')} 99:99, 5 Foo 2023 (UTC)",
        f"{user('Ada')} {'and so on ' * 20} 10:00, 5 May 2023 (UTC)",
    ],
)
def test_what_is_no_signature(words: str) -> None:
    assert runs(f"<p>Words: {words}</p>") == []


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("10:00, 5. Mai 2023 (UTC)", 10),
        ("10:00, 5. Mai 2023 (CEST)", 8),
        ("5 mai 2023 à 10:00 (CEST)", 8),
        ("10:00, 5 Μαΐου 2023 (UTC)", 10),
        ("2023年5月5日 (五) 10:00 (UTC)", 10),
        ("2023年5月5日 (金) 10:00 (UTC)", 10),
        ("2023년 5월 5일 (금) 10:00 (KST)", 1),
        ("10:00, 5 мая 2023 (UTC)", 10),
        ("10:00 5 may 2023 (UTC)", 10),
        ("10:00, 5 May 2023 (XYZT)", 10),
        ("10h00min de 5 de maio de 2023 (UTC)", 10),
        ("5 Mei 2023 10.00 (UTC)", 10),
        ("10:00، 5 مايو 2023 (ت ع م)", 10),
        ("5 maj 2023 kl. 10.00 (CEST)", 8),
    ],
)
def test_dates_of_many_languages(written: str, hour: int) -> None:
    link = '<a href="/wiki/%E7%94%A8:Ada" title="用:Ada">Ada</a>'
    (item,) = runs(f"<p>… {link} (<a href='/wiki/%E8%AE%BA:Ada' title='论:Ada'>讨论</a>) {written}</p>")
    assert dates.parse(item.get("data-date", ""), now=NOW) == datetime(2023, 5, 5, hour, 0, tzinfo=UTC)
    assert author(item) == "Ada"


def test_of_several_dates_in_a_line_the_last_one_that_is_signed_counts() -> None:
    first, second = signed("Ada", "9:00"), signed("Ada")
    (item,) = runs(f"<p>Words {first} amended! {second} since 1:00, 1 May 2023 (UTC) there is more of it</p>")
    assert (author(item), item.get("data-date")) == ("Ada", "10:00, 5 May 2023 (UTC)")


def test_a_page_of_its_own_does_not_sign_for_somebody_who_is_thanked() -> None:
    assert read(
        f"<p>Thank you {user('Bob')}, that was good advice! <a class='selflink'>Me</a> 10:00, 5 May 2023 (UTC)</p>"
    ) == [("Me", "Thank you Bob, that was good advice!")]


def test_comments_that_begin_with_a_blank_are_preformatted() -> None:
    assert read(f"<pre>I am new here. {signed('Ada')}\n</pre>") == [("Ada", "I am new here.")]


def test_comments_in_tables_and_boxes() -> None:
    box = (
        f"<div class='closed'><p>Closed. {signed('Di')}</p><table><tr><td>In it {signed('Ada')}</td></tr></table></div>"
    )
    assert read(box) == [("Di", "Closed."), ("Ada", "In it")]


def test_text_without_any_block() -> None:
    content = f"Just words {signed('Ada')}<p>Next {signed('Bob')}</p>and then {signed('Cy')}"
    assert read(content) == [("Ada", "Just words"), ("Bob", "Next"), ("Cy", "and then")]
    assert [item[0][0].tag for item in runs(content)] == ["p", "p", "p"]


def test_containers_within_containers_count_once_and_are_not_changed() -> None:
    outer = page(f"<div><p>One {signed('Ada')}</p></div>")
    before = tostring(outer)
    assert len(run_items([outer, outer[0]], RUN, NOW)) == 1
    assert tostring(outer) == before


def test_no_run_goes_on_in_the_next_container() -> None:
    first, second = page("<p>Unsigned</p>"), page(f"<p>One {signed('Ada')}</p>")
    assert [body(item) for item in run_items([first, second], RUN, NOW)] == ["One"]


HOSTILE = {
    "nested lists": "<dl><dd>" * 240 + f"{signed('Ada')}</dd></dl>" * 240,
    "a line of links": f"<p>{user('Ada') * 10_000} 10:00, 5 May 2023 (UTC)</p>",
    "more runs than any page has": f"<p>{signed('Ada')}</p>" * (MAX_RUNS + 100),
    "parentheses": f"<p>{'1(1(' * 100_000}{signed('Ada')}</p>",
    "nearly dates": f"<p>x {user('Ada')} one two three 10:00, 5 Mai-o 2023 (UTC)<br></p>" * 3_000,
    "markup within markup": ("<p>" + "<i>x" * 200 + signed("Ada") + "</i>" * 200 + "</p>") * 40,
    "stops within stops": f"<p>{signed('Ada')}</p>" + "<div class='toc'>" * 200 + "x" + "</div>" * 200,
    "wrappers": "<p>" + "<small class='unsigned'>" * 200 + signed("Ada") + "</small>" * 200 + "</p>",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_bounded(name: str) -> None:
    whole = page(HOSTILE[name])
    items = run_items([whole], RUN, NOW)
    assert len(items) <= MAX_RUNS
    copied = sum(sum(1 for _ in item.iter()) for item in items)
    assert copied <= 3 * sum(1 for _ in whole.iter()) + 2 * len(items)


MARKUP = "<p> </p> <dl><dd> </dd></dl> <ul><li> </li></ul> <br> <i> </i> <h2>Title</h2> <script>1</script> <!----> word"
QUOTES = ("<blockquote>", "</blockquote>")
PIECES = st.sampled_from([*MARKUP.split(), *QUOTES, signed("Ada"), signed("Bob"), user("Cy")])


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_page_can_be_read(content: str) -> None:
    whole = page(f"<div>{content}</div>")
    items = run_items([whole], RUN, NOW)
    words = "".join(whole.itertext()).split()
    assert len("".join(" ".join(item.itertext()) for item in items).split()) <= len(words) + 40 * len(items)
    for number, item in enumerate(items):
        assert author(item) in {"Ada", "Bob", "Cy"}
        assert item.get("data-number") == str(number)
        parent = item.get("data-parent")
        assert parent is None or int(items[int(parent)].get("data-depth", "")) < int(item.get("data-depth", ""))


@pytest.mark.parametrize(
    "heading",
    [
        '<h2>Eggs<span>[<a href="/w/?section=2">edit</a>]</span></h2>',
        '<h2>Eggs [<a href="/edit/2">edit</a> | <a href="/source/2">edit source</a>]</h2>',
        '<h2><font>Eggs</font><span><a href="/w/?section=2">edit</a><em>[</em><em>]</em></span></h2>',
        '<div class="heading"><h2>Eggs</h2><span>[<a href="/w/?section=2">edit</a>]</span></div>',
    ],
)
def test_tools_beside_the_words_of_a_heading_are_no_part_of_it(heading: str) -> None:
    (item,) = runs(f"{heading}<p>Newts lay them. {signed('Ada')}</p>")
    assert item.get("data-heading") == "Eggs"


@pytest.mark.parametrize(
    "heading",
    ['<h2>About <a href="/wiki/Eggs">eggs</a></h2>', '<h2>About <a href="/w/?title=Eggs">eggs</a></h2>'],
)
def test_links_among_the_words_of_a_heading_belong_to_it(heading: str) -> None:
    (item,) = runs(f"{heading}<p>Newts lay them. {signed('Ada')}</p>")
    assert item.get("data-heading") == "About eggs"


def test_what_is_called_a_heading_heads_what_follows_and_ends_what_came_before() -> None:
    named = Run(RUN.blocks, RUN.signature, RUN.stops, (compile_selector(css="div.topic b"),))
    content = page(
        f"<p>Nobody signs.</p><div class='topic'><b>Eggs</b> <i>3 new</i></div><p>Newts lay them. {signed('Ada')}</p>"
    )
    (item,) = run_items([content], named, NOW)
    assert (item.get("data-heading"), item.get("data-first"), body(item)) == ("Eggs", "yes", "Newts lay them.")
