"""Behaviours in files: what they become, whose count on a page, and what a person can get wrong in them."""

from pathlib import Path

import pytest

from knowledge_base.behaviours import USUAL_MOST, Act, Behaviour, BehaviourStep, behaviours_on
from knowledge_base.file_selection import UNKNOWN_PAGES
from knowledge_base.loader import LoadError, load
from knowledge_base.model import Match
from tests.knowledge_base.full_application import FULL, line_of, load_texts
from tests.shipped import shipped

BEGIN = '<behaviour name="more of it"'
CLICK = '<click css="a.more" most="3" pause="0.5"><words language="en">load more; show more</words></click>'
OWN = """<unknown-pages>
  <behaviour name="mine"><scroll most="7"/></behaviour>
</unknown-pages>
"""


def test_a_behaviour_is_read_with_all_that_it_says(tmp_path: Path) -> None:
    (found,) = load_texts(tmp_path, FULL).application("Full").behaviours
    assert (found.name, sorted(found.levels), sorted(found.allows)) == ("more of it", ["list", "talk"], ["POST"])
    assert (found.never, found.cite) == (("log out",), "list.js")
    click, scroll = found.steps
    assert (click.act, click.most, click.pause, click.words) == (Act.CLICK, 3, 0.5, ("load more", "show more"))
    assert click.selectors[0].css == "a.more"
    assert (scroll.act, scroll.most, scroll.selectors) == (Act.SCROLL, USUAL_MOST, ())


@pytest.mark.parametrize(
    ("right", "wrong", "place", "said"),
    [
        (' level="list talk"', ' level="list topic"', BEGIN, "there is no level topic; the levels are list, talk"),
        (' most="3"', ' most="0"', "<click css", 'most of <click> cannot be "0"'),
        (' most="3"', ' most="1000"', "<click css", "how often at most"),
        (' pause="0.5"', ' pause="60"', "<click css", "Seconds from 0 to 10"),
        ('css="a.more"', 'css="a..more"', "<click css", "no CSS selector"),
        ('css="a.more"', 'css="a.more" xpath="//a"', "<click css", "write either css or xpath"),
        ('<click css="a.more"', '<click css="a.more" attribute="href"', "<click css", "<click> has no attribute here"),
        (CLICK, "<click/>", "<click/>", "nothing says what is to be clicked"),
        (CLICK, "<hover/>", "<hover/>", "there is no element <hover>"),
        ("<scroll/>", "<scroll><words>more</words></scroll>", "<scroll>", "nothing of this sort can stand within"),
        (f"{CLICK}\n    <scroll/>", "", BEGIN, "this behaviour does nothing; write one of <scroll>, <click>, <open>"),
        (' allows="POST"', ' allows="DELETE"', BEGIN, 'allows of <behaviour> cannot be "DELETE"'),
        (' allows="POST"', ' always="yes"', BEGIN, "always is for behaviours in unknown-pages.xml"),
        ("</behaviour>", f'</behaviour>{BEGIN}><scroll/></behaviour>', BEGIN, "has the name more of it already"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line_and_what_to_write(
    tmp_path: Path, right: str, wrong: str, place: str, said: str
) -> None:
    assert right in FULL
    text = FULL.replace(right, wrong, 1)
    with pytest.raises(LoadError) as caught:
        load_texts(tmp_path, text)
    told = [(problem.line, problem.message) for problem in caught.value.problems]
    lines = {line_of(text, place), line_of(text, "</behaviour>")}
    assert any(line in lines and said in message for line, message in told), told


def test_a_file_has_the_behaviours_of_the_one_it_extends_but_those_it_writes_itself(tmp_path: Path) -> None:
    head = '<application name="Site" kind="wiki" extends="Full"><detect><pattern host="s.example" strength="proof"/></detect>'  # noqa: E501
    own = '<behaviour name="pictures"><click css="#next"/></behaviour>'
    site = load_texts(tmp_path, f"{head}{own}</application>", FULL).application("Site")
    assert [each.name for each in site.behaviours] == ["pictures", "more of it"]
    again = own.replace("pictures", "more of it")
    site = load_texts(tmp_path, f"{head}{again}</application>", FULL).application("Site")
    assert [each.steps[0].selectors[0].css for each in site.behaviours] == ["#next"]


def test_a_kind_gives_its_behaviours_to_its_applications(tmp_path: Path) -> None:
    (tmp_path / "kinds").mkdir()
    (tmp_path / "applications").mkdir()
    kind = '<kind name="wiki" title="Wiki"><object type="page"/><object type="comment"/><behaviour name="of all"{}><scroll/></behaviour></kind>'  # noqa: E501
    (tmp_path / "kinds" / "wiki.xml").write_text(kind.format(""))
    (tmp_path / "applications" / "full.xml").write_text(FULL)
    assert [each.name for each in load(tmp_path).application("Full").behaviours] == ["more of it", "of all"]
    (tmp_path / "kinds" / "wiki.xml").write_text(kind.format(' level="talk"'))
    with pytest.raises(LoadError, match="levels are of applications"):
        load(tmp_path)


def test_the_file_of_unknown_pages_of_the_last_folder_counts_and_its_mistakes_are_told(tmp_path: Path) -> None:
    (tmp_path / "applications").mkdir()
    (tmp_path / UNKNOWN_PAGES).write_text(OWN)
    assert [each.name for each in load(tmp_path).behaviours] == ["mine"]
    (tmp_path / UNKNOWN_PAGES).write_text(OWN.replace('most="7"', 'most="no"'))
    with pytest.raises(LoadError, match=r"unknown-pages\.xml:2: most of <scroll>"):
        load(tmp_path)


def test_what_is_known_of_a_level_takes_the_place_of_what_is_done_anywhere() -> None:
    steps = (BehaviourStep(Act.SCROLL),)
    boxes, general, media = (Behaviour(name, steps, always=name != "all") for name in ("boxes", "all", "media"))
    posts = Behaviour("posts", steps, levels=frozenset({"thread"}))

    def names(level: str | None) -> list[str]:
        return [each.name for each in behaviours_on(level, (posts,), (boxes, general, media))]

    assert names("thread") == ["boxes", "posts", "media"]
    assert names("forum") == names(None) == ["boxes", "all", "media"]


def test_those_that_ship_never_agree_to_anything() -> None:
    general = shipped().behaviours
    assert shipped().behaviours_on(None) == general
    words = {word for each in general for step in each.steps for word in step.words}
    assert not words & {"accept", "accept all", "agree", "ok", "allow all", "alle akzeptieren", "tout accepter"}
    assert {"reject all", "load more", "もっと見る"} <= words
    discourse = shipped().application("Discourse")
    chosen = shipped().behaviours_on(Match(discourse, discourse.level("topic")))
    assert [each.name for each in chosen] == ["overlays", "more posts", "folded parts", "sound and film"]
