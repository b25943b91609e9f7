"""Answers in JSON: whose they are, and what is read from the markup in them."""

import json
from pathlib import Path

import pytest

from aahcrawler.helper import ApplicationAwareHelper, Assistance, Failure
from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, Reference
from knowledge_base.loader import FOLDER, load_files
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import NOW, html_page

REED = """<application name="Reed" kind="web-forum">
<detect>
  <pattern strength="proof" generator="Reed"/>
  <pattern strength="strong" header="X-Reed" value="reed/"/>
  <pattern strength="strong" path="/reed-api/**" literal="reed-api"/>
  <pattern strength="strong" text="Powered by Reed"/>
</detect>
<avoid><url reason="api" path="**/*.json"/><url reason="login" path="/login"/></avoid>
<level name="front" role="intermediate">
  <when css="#front"/><address path="/"/>
  <navigate name="answers" to="topic">
    <request address="/t/{id}.json"><value name="id" css="i" each="yes"/></request>
  </navigate>
  <navigate name="sign-in" to="topic"><request address="/login"/></navigate>
  <navigate name="linked" to="topic"><select css="a"/></navigate>
</level>
<level name="topic" role="terminal">
  <when xpath="/json/posts/item"/><address path="/t/#.json"/><address path="/t/*/#"/>
  <own xpath="/json/link"/>
  <navigate name="other-topics" to="topic"><select xpath="/json/others/item/link"/></navigate>
  <extract name="posts" type="post" many="yes">
    <item xpath="/json/posts/item"/>
    <identity prefix="p"><select xpath="id"/></identity>
    <field name="author" kind="person" markup="yes"><select xpath="by"/></field>
    <field name="home" kind="url"><select xpath="home"/></field>
    <field name="source" kind="url" markup="yes"><select xpath="via"/></field>
    <field name="score" kind="number"><select xpath="score"/></field>
    <field name="body" markup="yes"><select xpath="said"/><without css="aside"/></field>
    <field name="shown" kind="html" markup="yes"><select xpath="said"/><without css="aside"/></field>
  </extract>
</level>
</application>"""
SAID = (
    "<p>Wet &amp; cold<br>rope</p><aside>an advert</aside><script>x</script><img src='/rope.png'>"
    "<a href='/t/knots/2'>knots</a> <a href='https://far.example/'>far</a> <a href='/login'>in</a>"
)
TOPIC = {
    "link": "https://reed.example/t/ropes/1",
    "others": [{"link": "/t/tides/3"}, {"link": "https://elsewhere.example/t/x/4"}, {"link": None}],
    "posts": [
        {
            "id": 7,
            "by": "<a href='/u/ida'>Ida <b>Torn</b></a>",
            "home": "/u/ida",
            "via": "seen <a href='https://far.example/log'>here</a>",
            "score": 3,
            "said": SAID,
        }
    ],
}
URL = "https://reed.example/t/1.json"


@pytest.fixture(scope="module")
def knowledge_base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    file = tmp_path_factory.mktemp("kb") / "reed.xml"
    file.write_text(REED, "utf-8")
    return load_files([FOLDER / "kinds" / "web-forum.xml"], [file])


@pytest.fixture
def helper(knowledge_base: KnowledgeBase) -> ApplicationAwareHelper:
    return ApplicationAwareHelper(knowledge_base)


def answer(value: object, *more: tuple[str, str], url: str = URL, status: int = 200) -> Page:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Page(url, status, Headers((("Content-Type", "application/json"), *more)), body, NOW)


def level_of(assistance: Assistance) -> str | None:
    return assistance.match.level.name if assistance.match and assistance.match.level else None


def front(helper: ApplicationAwareHelper, body: str = "") -> Assistance:
    markup = f'<meta name="generator" content="Reed 1"><div id="front">{body}</div>'
    return helper.assist(html_page("https://reed.example/", markup))


def test_an_answer_belongs_to_what_its_header_address_or_site_says(helper: ApplicationAwareHelper) -> None:
    assert level_of(helper.assist(answer(TOPIC))) is None
    assert level_of(helper.assist(answer(TOPIC, ("X-Reed", "reed/topic")))) == "topic"
    assert level_of(helper.assist(answer(TOPIC, url="https://other.example/reed-api/t/1.json"))) == "topic"
    assert level_of(helper.assist(answer(TOPIC))) is None
    front(helper)
    assert level_of(helper.assist(answer(TOPIC))) == "topic"


def test_what_an_answer_quotes_is_no_sign(helper: ApplicationAwareHelper) -> None:
    quoting = TOPIC | {"said": "Powered by Reed <meta name=generator content=Reed>"}
    assistance = helper.assist(answer(quoting))
    assert assistance.match is None
    assert (assistance.objects, assistance.document.outlinks, assistance.failed_actions) == ((), (), ())


def test_an_answer_does_not_change_what_is_known_of_its_site(helper: ApplicationAwareHelper) -> None:
    front(helper)
    helper.assist(answer({"nothing": "known"}))
    assert level_of(helper.assist(answer(TOPIC))) == "topic"


@pytest.mark.parametrize("body", [b"", b"[", b"<p>no JSON</p>", b"[" * 50_000, b'{"posts": [NaN]}', b"\xff\xfe\x00"])
def test_what_is_no_json_yields_nothing(helper: ApplicationAwareHelper, body: bytes) -> None:
    front(helper)
    assistance = helper.assist(answer(body))
    assert (level_of(assistance), assistance.objects, assistance.document.outlinks) == (None, (), ())
    assert assistance.failed_actions == ()


def test_an_error_is_not_read(helper: ApplicationAwareHelper) -> None:
    front(helper)
    assistance = helper.assist(answer(TOPIC, status=404))
    assert (level_of(assistance), assistance.objects) == (None, ())


def test_markup_within_an_answer_is_read_as_such(helper: ApplicationAwareHelper) -> None:
    assistance = helper.assist(answer(TOPIC, ("X-Reed", "reed/topic")))
    (post,) = assistance.objects
    assert (post.iri, post.part_of) == ("https://reed.example/t/ropes/1#p7", "https://reed.example/t/ropes/1")
    assert post.first("author") == Person("Ida Torn", "https://reed.example/u/ida")
    assert post.first("home") == Reference("https://reed.example/u/ida")
    assert post.first("source") == Reference("https://far.example/log")
    assert post.first("score") == 3
    assert post.first("body") == "Wet & cold\nrope\nknots far in"
    shown = post.first("shown")
    assert isinstance(shown, str)
    assert shown.startswith("<p>Wet &amp; cold<br>rope</p>")
    assert "advert" not in shown
    assert "script" not in shown


def test_links_and_pictures_of_the_markup_count(helper: ApplicationAwareHelper) -> None:
    assistance = helper.assist(answer(TOPIC, ("X-Reed", "reed/topic")))
    assert {link.url: link.action for link in assistance.document.outlinks} == {
        "https://reed.example/t/knots/2": None,
        "https://far.example/": None,
        "https://reed.example/t/tides/3": "other-topics",
    }
    assert [(refused.url, refused.reason) for refused in assistance.refused] == [
        ("https://reed.example/login", "login")
    ]
    assert assistance.requisites == ("https://reed.example/rope.png",)
    assert [part.text for part in assistance.document.parts] == ["Wet & cold\nrope\nknots far in"]


def test_what_an_action_asks_for_is_allowed_where_its_level_documents_it(helper: ApplicationAwareHelper) -> None:
    assistance = front(helper, '<i>5</i><i>x</i><a href="/t/9.json">linked</a>')
    assert {link.url: link.action for link in assistance.document.outlinks} == {
        "https://reed.example/t/5.json": "answers"
    }
    assert {(refused.url.rpartition("example")[2], refused.reason) for refused in assistance.refused} == {
        ("/t/x.json", "api"),
        ("/login", "login"),
        ("/t/9.json", "api"),
    }


def test_a_form_that_is_not_sent_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "reed.xml"
    form = '<navigate name="find" to="topic"><form css="form"><value name="q" icd="keywords"/></form></navigate>'
    file.write_text(REED.replace('<navigate name="sign-in"', form + '<navigate name="sign-in"'), "utf-8")
    known = load_files([FOLDER / "kinds" / "web-forum.xml"], [file])
    helper = ApplicationAwareHelper(known, values={"keywords": ("dike",)})
    (failed,) = front(helper, '<form method="post"><input name="q"></form>').failed_actions
    assert (failed.level, failed.action, failed.failure) == ("front", "find", Failure.NOT_SENT)
    assert "its method is post" in failed.detail
    links = front(helper, '<form action="/t/by-word/4"><input name="q"></form>').document.outlinks
    assert [(link.url, link.anchor) for link in links] == [("https://reed.example/t/by-word/4?q=dike", "dike")]
