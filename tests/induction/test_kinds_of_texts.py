# ruff: noqa: E501 - markup is as wide as it is written
"""One text a page, in the templates of many decades, makers and languages: none is empty, and no frame is in a text."""

from dataclasses import dataclass

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import WebObject
from tests.page.building import page_of

LINES = (
    "The slip was dug by hand in the winter of 1887, when the herring failed and the men had nothing else to do.",
    "Most of the stone came from the quarry behind the church, and the rest was carried over from the island on barges.",
    "It is forty yards long, a little steeper than it should be, and it has never been repaired above the waterline.",
    "Until the railway came, every barrel that left the valley was rolled down here, and the marks of the rims are still there.",
    "The first boat to be built on it was the Margaret, which sailed for eleven years and was lost with all hands off the cape.",
    "Her model hangs in the chapel, and the children are told that the cook's dog swam home by itself.",
    "After the war the yard made furniture for a while, because nobody ordered boats and the oak was already paid for.",
    "Two of the cupboards stand in the town hall, where they are used for the flags and the lost umbrellas.",
    "When the yard was closed in 1962, the tools were shared out by lot among those who had worked there the longest.",
    "My grandfather drew the big adze, for which he had no use, and he kept it behind the kitchen door until he died.",
    "The society bought the slip for one crown in 1998, together with the shed, the winch and about nine tons of rust.",
    "Since then some forty people have given their Saturdays to it, and the winch can be turned by two of them again.",
    "We are often asked whether the slip is safe to walk on: it is at low water, if you wear anything but sandals.",
    "In spring the shed is open from ten to four, and whoever is there will show you how the steam box was heated.",
    "The last page of the yard's book has only one line, and nobody has found out so far what was meant by it.",
    "It says that the debt is settled, that the tide was late, and that the key hangs where it always hung.",
)
SHORT = (
    "Bring a lamp, the shed has no windows.",
    "The winch was oiled.",
    "Rain all day, nobody came.",
    "Found the third hinge at last!",
    "Paint: two coats of red lead.",
    "Low water at 14:10.",
    "Tea was served at four.",
    "The swallows are back.",
)
GERMAN = (
    "Die Helling wurde im Winter 1887 von Hand gegraben, als der Hering ausblieb und die Männer nichts anderes zu tun hatten.",
    "Der meiste Stein kam aus dem Bruch hinter der Kirche, der Rest wurde auf Kähnen von der Insel herübergebracht.",
    "Seit der Verein sie gekauft hat, haben etwa vierzig Menschen ihre Samstage dafür gegeben, und die Winde dreht sich wieder.",
    "Wer die Helling bei Niedrigwasser betreten möchte, sollte festes Schuhwerk tragen und sich vorher im Schuppen melden.",
)
RUSSIAN = (
    "Этот спуск выкопали вручную зимой 1887 года, когда сельдь не пришла и мужчинам больше нечем было заняться.",
    "Почти весь камень взяли из карьера за церковью, а остальное привезли на баржах с острова.",
    "С тех пор как общество его купило, около сорока человек отдали ему свои субботы, и лебёдка снова вращается.",
    "Тем, кто хочет пройти по спуску во время отлива, лучше надеть крепкую обувь и сначала зайти в сарай.",
)
JAPANESE = (
    "この船台は、ニシンが来ず男たちにほかの仕事がなかった一八八七年の冬に、すべて手で掘られたものである。",
    "石の大部分は教会の裏にある石切り場から運ばれ、残りは島から艀に積んで対岸まで渡された。",
    "協会がここを買い取ってから、およそ四十人が土曜日を費やし、巻き上げ機は再び動くようになった。",
    "干潮のときに船台を歩いてみたい人は、丈夫な靴を履き、まず小屋に声をかけてほしい。",
    "帳簿の最後のページには一行だけ書かれているが、それが何を意味するのかは今も分かっていない。",
)
ARABIC = (
    "حُفر هذا المنزلق باليد في شتاء عام ١٨٨٧ عندما غاب سمك الرنجة ولم يكن لدى الرجال عمل آخر يقومون به.",
    "جاء معظم الحجر من المقلع الواقع خلف الكنيسة، ونُقل الباقي من الجزيرة على ظهر الصنادل.",
    "ومنذ أن اشترته الجمعية منح نحو أربعين شخصا أيام السبت لهذا العمل، وعادت الرافعة تدور من جديد.",
    "من أراد أن يمشي على المنزلق وقت الجزر فليلبس حذاء متينا وليمر أولا بالسقيفة ليخبر من فيها.",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A page with one text: lines that its first object must have, and words that it may not have."""

    name: str
    markup: str
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    path: str = "/slip.html"


def paragraphs(lines: tuple[str, ...]) -> str:
    return "".join(f"<p>{line}</p>\n" for line in lines)


def framed(text: str, title: str = "The old slip", head: str = "", more: str = "") -> str:
    """Return a page of a weblog or a newspaper around a text."""
    menu = "".join(
        f"<li><a href='/{name}'>{name.title()}</a></li>" for name in ("news", "harbour", "people", "opening", "about")
    )
    return (
        f"<!doctype html><html><head><title>{title} | Harbour Society</title>{head}</head><body>"
        f"<div id=head><a href='/'>Harbour Society</a><ul class=menu>{menu}</ul></div>"
        f"<div id=page>{text}</div>{more}"
        "<div id=foot><p>Harbour Society, 4 Quay Street. All pages may be copied for teaching.</p>"
        "<p><a href='/imprint'>Imprint</a> <a href='/privacy'>Privacy</a></p></div></body></html>"
    )


MENU = ("Imprint", "All pages may be copied")

KINDS = (
    Kind(
        "home page of 1998 with breaks and fonts",
        "<HTML><HEAD><TITLE>Welcome to the Slip Page!</TITLE></HEAD><BODY BGCOLOR=#C0C0C0><CENTER><FONT SIZE=+3>The Old Slip</FONT></CENTER><HR>"
        "<FONT FACE=Arial SIZE=2>"
        + "<BR><BR>".join(LINES[:8])
        + "</FONT><HR><A HREF=index.html>Home</A> | <A HREF=links.html>Links</A> | <A HREF=guest.html>Guest book</A></BODY></HTML>",
        LINES[:8],
    ),
    Kind(
        "nested tables, a column of links, text in a cell",
        "<html><head><title>Slip</title></head><body><table width=760><tr><td colspan=2><img src=head.gif></td></tr><tr><td width=150 valign=top>"
        + "<br>".join(f"<a href=p{n}.htm>Page number {n}</a>" for n in range(12))
        + "</td><td valign=top><table><tr><td><font size=4><b>The old slip</b></font><br><br>"
        + "<br>\n<br>\n".join(LINES[:6])
        + "</td></tr></table></td></tr></table></body></html>",
        LINES[:6],
        ("Page number",),
    ),
    Kind(
        "a frame's content without a title",
        "<html><body><b>The old slip</b>" + "".join(f"<p>{line}" for line in LINES[:6]) + "</body></html>",
        LINES[:6],
    ),
    Kind(
        "a press release in one preformatted element",
        "<html><head><title>Press release 14/99</title></head><body><pre>\nFOR IMMEDIATE RELEASE                 Contact: Ann Boyd\n12 May 1999\n\nHARBOUR SOCIETY BUYS OLD SLIP\n\n"
        + "\n\n".join(line.replace(", ", ",\n") for line in LINES[:8])
        + "\n\n###\n</pre></body></html>",
        (LINES[1].split(", ")[0],),
    ),
    Kind(
        "a plain memoir in one preformatted element, lines of 70 signs",
        "<html><head><title>memoir.txt</title></head><body><pre>"
        + "\n\n".join(line[:60] + "\n" + line[60:] for line in LINES[:10])
        + "</pre></body></html>",
        (LINES[4][:50], LINES[8][:50]),
    ),
    Kind(
        "an interview by names in bold type",
        framed(
            "<h1>A talk about the slip</h1><p class=date>12 May 2012</p><p>"
            + LINES[0]
            + "</p>"
            + "".join(
                f"<p><strong>Harbour News: {question}</strong></p><p><strong>Boyd:</strong> {answer} {more}</p>"
                for question, (answer, more) in zip(
                    ("How old is it?", "Who built it?", "Is it safe?", "What came then?", "And now?"),
                    zip(LINES[1:10:2], LINES[2:11:2], strict=True),
                    strict=True,
                )
            ),
            "A talk about the slip",
        ),
        (LINES[0], LINES[1], LINES[10]),
        MENU,
    ),
    Kind(
        "an interview in a list of definitions",
        framed(
            "<h1>Five questions</h1><dl>"
            + "".join(f"<dt>What do you say to number {n}?</dt><dd>{line}</dd>" for n, line in enumerate(LINES[:6]))
            + "</dl>",
            "Five questions",
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "a recipe with parts",
        framed(
            "<h1>Herring as on the slip</h1><p class=author>Carla Ness</p><p>"
            + LINES[5]
            + "</p><h2>Ingredients</h2><ul><li>6 herrings</li><li>200 g of oats</li><li>butter, salt</li></ul>"
            "<h2>Preparation</h2><ol><li>Clean the herrings, open them flat and dry them with a cloth.</li><li>Salt them on both sides, and press them into the oats until they are covered.</li>"
            "<li>Fry them in butter over a small fire, five minutes on each side, and serve them at once.</li></ol><p>Serves three. Takes half an hour.</p>",
            "Herring as on the slip",
        ),
        ("Salt them on both sides, and press them into the oats until they are covered.", LINES[5]),
        MENU,
    ),
    Kind(
        "a recipe as a table of steps",
        framed(
            "<h1>Herring soup</h1><table><tr><th>1</th><td>Boil the potatoes in their skins, peel them while they are hot and cut them small.</td></tr>"
            "<tr><th>2</th><td>Fry the onions in butter until they are soft, but do not let them become brown.</td></tr>"
            "<tr><th>3</th><td>Add milk, the potatoes and the herrings, and heat all of it slowly without boiling.</td></tr>"
            "<tr><th>4</th><td>Let it stand for ten minutes, and add the pepper and the dill when it is on the table.</td></tr></table>",
            "Herring soup",
        ),
        ("Fry the onions in butter until they are soft, but do not let them become brown.",),
        MENU,
    ),
    Kind(
        "a live blog, the newest entry first",
        framed(
            "<h1>The launch, as it happened</h1><p>"
            + LINES[11]
            + "</p><div class=live>"
            + "".join(
                f"<div class=entry><span class=time>{18 - n}:{n}5</span><p>{line}</p></div>"
                for n, line in enumerate(LINES[:6])
            )
            + "</div>",
            "The launch, as it happened",
            "<meta property='og:type' content='article'><meta property='article:published_time' content='2021-05-12T08:00:00Z'>",
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "a live blog that declares nothing",
        framed(
            "<h1>The launch, as it happened</h1><p>"
            + LINES[11]
            + "</p>"
            + "".join(f"<h3>{18 - n}.{n}5: {SHORT[n]}</h3><p>{line}</p>" for n, line in enumerate(LINES[:6])),
            "The launch, as it happened",
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "an essay of photographs with captions",
        framed(
            "<h1>The slip in pictures</h1><p class=date>3 June 2015</p><p>"
            + LINES[0]
            + "</p>"
            + "".join(
                f"<figure><img src=/p{n}.jpg width=900 height=600><figcaption>{line}</figcaption></figure>"
                for n, line in enumerate(LINES[1:7])
            ),
            "The slip in pictures",
        ),
        (LINES[0],),
        MENU,
    ),
    Kind(
        "short notes of a log",
        framed(
            "<h1>Log of the shed</h1>"
            + "".join(f"<p>{3 * n + 1} May. {line}</p>" for n, line in enumerate(SHORT))
            + paragraphs(LINES[:3]),
            "Log of the shed",
        ),
        (LINES[0], "Rain all day, nobody came."),
        MENU,
    ),
    Kind(
        "a transcript by speakers",
        framed(
            "<h1>Meeting of 4 March</h1>"
            + "".join(f"<p>{('BOYD', 'NESS', 'LUND')[n % 3]}: {line}</p>" for n, line in enumerate(LINES[:9])),
            "Meeting of 4 March",
        ),
        LINES[:9],
        MENU,
    ),
    Kind(
        "minutes with numbered points in a table",
        framed(
            "<h1>Minutes of the meeting</h1><table border=1>"
            + "".join(
                f"<tr><td>{n + 1}</td><td>{SHORT[n]}</td><td>{line}</td><td>Boyd</td></tr>"
                for n, line in enumerate(LINES[:7])
            )
            + "</table>",
            "Minutes of the meeting",
        ),
        LINES[:7],
        MENU,
    ),
    Kind(
        "the front page of a society with a text of its own",
        framed(
            "<h1>Welcome to the Harbour Society</h1>"
            + paragraphs(LINES[:5])
            + "<h2>News</h2><ul><li><a href='/n/1'>Winch turned</a></li><li><a href='/n/2'>Shed open</a></li></ul>",
            "Welcome",
        ),
        LINES[:5],
        MENU,
        "/",
    ),
    Kind(
        "the front page of one person, text and then links",
        "<html><head><title>Edda Lund</title></head><body><h1>Edda Lund</h1>"
        + paragraphs(LINES[8:12])
        + "<h2>Papers</h2><ul>"
        + "".join(f"<li><a href=paper{n}.pdf>On slips and their use, part {n}</a>, 200{n}.</li>" for n in range(6))
        + "</ul></body></html>",
        LINES[8:12],
        (),
        "/~lund/",
    ),
    Kind(
        "an article with many teasers below",
        framed(
            "<h1>The old slip</h1>" + paragraphs(LINES[:7]),
            more="<div class=more><h2>More to read</h2>"
            + "".join(
                f"<div class=teaser><h3><a href='/t/{n}'>{SHORT[n]}</a></h3><p>Something that was written on another day about {SHORT[n].lower()} Nobody knows why, but many people liked it very much at that time.</p></div>"
                for n in range(8)
            )
            + "</div>",
        ),
        LINES[:7],
        ("Something that was written",),
    ),
    Kind(
        "a page of a museum about one thing",
        framed(
            "<div class=object><h1>Adze</h1><div class=facts><dl><dt>Inventory</dt><dd>1998.14</dd><dt>Material</dt><dd>Iron, ash</dd><dt>Place</dt><dd>The yard</dd></dl></div>"
            "<div class=text><p>" + " ".join(LINES[7:11]) + "</p></div></div>",
            "Adze",
        ),
        (LINES[9],),
        MENU,
        "/objects/1998-14",
    ),
    Kind(
        "a government's page with steps that unfold",
        framed(
            "<main><h1>Permit to use the slip</h1><p>"
            + LINES[12]
            + "</p>"
            + "".join(
                f"<details><summary>Step {n + 1}</summary><p>{line}</p></details>" for n, line in enumerate(LINES[:5])
            )
            + "</main>",
            "Permit to use the slip",
        ),
        (LINES[12], LINES[0], LINES[4]),
        MENU,
    ),
    Kind(
        "a law by sections",
        framed(
            "<h1>Harbour rules</h1>"
            + "".join(
                f"<h3>&sect; {n + 1}</h3><p>({n + 1}) {line}</p><p>(2) {SHORT[n]}</p>"
                for n, line in enumerate(LINES[:8])
            ),
            "Harbour rules",
        ),
        (LINES[0], LINES[7]),
        MENU,
    ),
    Kind(
        "an accordion of answers in div elements",
        framed(
            "<div class='hero'><h1>Questions</h1></div>"
            + "".join(
                f"<div class=item><button>{SHORT[n]}</button><div class=panel><div class=inner>{line}</div></div></div>"
                for n, line in enumerate(LINES[:8])
            ),
            "Questions",
        ),
        LINES[:8],
        MENU,
    ),
    Kind(
        "text in div elements alone, made by a builder of sites",
        framed(
            "".join(
                f"<section><div class=row><div class=col><div class='txt'>{line}</div></div></div></section>"
                for line in LINES[:8]
            )
        ),
        LINES[:8],
        MENU,
    ),
    Kind(
        "text in span elements with breaks",
        framed(
            "<div><span class=big>The old slip</span><br>"
            + "<br>".join(f"<span>{line}</span>" for line in LINES[:6])
            + "</div>"
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "a page that asks not to be indexed",
        framed(
            "<h1>The old slip</h1><p>12 May 2012</p>" + paragraphs(LINES[:3]),
            head="<meta name=robots content='noindex,follow'>",
        ),
        LINES[:3],
        MENU,
    ),
    Kind(
        "an archive's page that asks for nothing at all",
        framed(
            "<h1>The old slip</h1>" + paragraphs(LINES[:8]),
            head="<meta name=robots content='noindex,nofollow,noarchive'>",
        ),
        LINES[:8],
        MENU,
    ),
    Kind(
        "a glossary's long entry with links in every line",
        framed(
            "<h1>Slip</h1>"
            + "".join(
                f"<p>{line.replace('the', '<a href=/w/the>the</a>', 3).replace('and', '<a href=/w/and>and</a>', 2)}</p>"
                for line in LINES[:6]
            ),
            "Slip",
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "an article with a long thread of comments",
        framed(
            "<h1>The old slip</h1><p class=byline>By Ann Boyd, 12 May 2012</p>"
            + paragraphs(LINES[:2])
            + "<div id=comments><h3>14 comments</h3>"
            + "".join(
                f"<div class=comment id=c{n}><b>user{n}</b> <span class=date>{n + 10} May 2012</span><p>{LINES[n + 2]} {SHORT[n % 8]}</p></div>"
                for n in range(14)
            )
            + "</div>",
        ),
        LINES[:2],
        MENU,
    ),
    Kind(
        "an article with two sources and their days, and comments",
        framed(
            "<h1>The old slip</h1><p class=byline>By Ann Boyd, 12 May 2012</p><div class=entry>"
            + paragraphs(LINES[:2])
            + "<p>Meeting of the Harbour Council, 28.12.2011</p><h2>What the council said</h2>"
            + paragraphs(LINES[2:6])
            + "<p>Letters to the yard, 26.11.2011</p><h2>What the yard said</h2>"
            + paragraphs(LINES[6:9])
            + "</div><div id=comments><h3>6 comments</h3><ol class=commentlist>"
            + "".join(
                f"<li class=comment id=c{n}><cite><a href='/u/{n}'>user{n}</a></cite> <a href='#c{n}'><time datetime='2012-05-1{n}T10:00:00Z'>1{n} May 2012</time></a><p>{LINES[n + 9]} {SHORT[n % 8]}</p></li>"
                for n in range(6)
            )
            + "</ol></div>",
        ),
        LINES[:9],
        MENU,
    ),
    Kind(
        "a chapter of a novel with dialogue",
        framed(
            "<h1>Chapter 4</h1><div class=chapter>"
            + "".join(
                f"<p>&ldquo;{short}&rdquo;</p><p>&ldquo;Is it?&rdquo; asked Edda. {line}</p>"
                for short, line in zip(SHORT, LINES, strict=False)
            )
            + "</div>",
            "Chapter 4",
        ),
        (LINES[3], "Tea was served at four."),
        MENU,
    ),
    Kind(
        "notes on a release",
        framed(
            "<h1>Version 4.2</h1><p>Released on 4 May 2014</p><ul>"
            + "".join(f"<li>{line}</li>" for line in (*SHORT, *LINES[:4]))
            + "</ul>",
            "Version 4.2",
        ),
        LINES[:4],
        MENU,
    ),
    Kind(
        "a biography with days in bold type",
        framed(
            "<h1>Edda Lund</h1>" + "".join(f"<p><b>{1900 + 4 * n}</b> {line}</p>" for n, line in enumerate(LINES[:8])),
            "Edda Lund",
        ),
        (LINES[0], LINES[7]),
        MENU,
    ),
    Kind(
        "an obituary in one paragraph",
        framed("<h1>Edda Lund</h1><p>" + " ".join(LINES[5:10]) + "</p>", "Edda Lund"),
        (LINES[5], LINES[9]),
        MENU,
    ),
    Kind(
        "a sermon without markup of paragraphs",
        framed("<h2>Sermon on the second Sunday</h2>" + "\n\n".join(LINES[:6]), "Sermon on the second Sunday"),
        (LINES[0], LINES[5]),
        MENU,
    ),
    Kind(
        "a page made of boxes by name of style sheet",
        framed(
            "".join(
                f"<div class=box><div class=boxhead>{SHORT[n]}</div><div class=boxbody>{line}</div></div>"
                for n, line in enumerate(LINES[:6])
            )
        ),
        LINES[:6],
        MENU,
    ),
    Kind(
        "German, a town's content management",
        framed(
            "<div class=bread>Sie sind hier: <a href=/>Start</a> &gt; Hafen</div><h1>Die alte Helling</h1><div class=csc-default>"
            + paragraphs(GERMAN)
            + "</div><p>Stand: 12.05.2012</p>",
            "Die alte Helling",
        ),
        GERMAN,
        MENU,
    ),
    Kind(
        "Russian, windows-1251 of 2003",
        "<html><head><title>Старый спуск</title></head><body><table><tr><td><a href=1.html>Новости</a><br><a href=2.html>Люди</a></td><td><h2>Старый спуск</h2><p align=justify>"
        + "<br>&nbsp;&nbsp;".join(RUSSIAN)
        + "</td></tr></table></body></html>",
        RUSSIAN,
    ),
    Kind(
        "Japanese diary with breaks",
        "<html lang=ja><head><title>港日記</title></head><body><div id=menu><a href=/>トップ</a> <a href=/bbs>掲示板</a></div><h3>古い船台</h3><div class=day>2004年5月12日</div>"
        + "<br><br>".join(JAPANESE)
        + "</body></html>",
        JAPANESE,
    ),
    Kind(
        "Japanese paragraphs of div elements",
        framed("<h1>古い船台</h1>" + "".join(f"<div>{line}</div>" for line in JAPANESE), "古い船台"),
        JAPANESE,
        MENU,
    ),
    Kind(
        "Arabic, from right to left",
        "<html dir=rtl lang=ar><head><title>المنزلق القديم - أخبار الميناء</title></head><body><ul><li><a href=/a>الأخبار</a></li><li><a href=/b>الناس</a></li></ul><h1>المنزلق القديم</h1>"
        + paragraphs(ARABIC)
        + "</body></html>",
        ARABIC,
    ),
    Kind(
        "an index of pages with a text of its own above",
        framed(
            "<h1>Boats of the yard</h1>"
            + paragraphs(LINES[3:8])
            + "<ul>"
            + "".join(f"<li><a href='/boats/{n}'>Boat number {n}, built in 19{n + 10}</a></li>" for n in range(20))
            + "</ul>",
            "Boats of the yard",
        ),
        LINES[3:8],
        MENU,
    ),
    Kind(
        "a weblog's entry below a list of days",
        framed(
            "<div class=cal>"
            + "".join(f"<a href='/day/{n}'>{n}</a> " for n in range(1, 31))
            + "</div><h2><a href='/slip.html'>The old slip</a></h2>"
            + paragraphs(LINES[:3])
            + "<div class=meta>Posted by eddal at 10:15 | <a href='/slip.html#c'>Comments (0)</a> | <a href='/slip.html'>Permalink</a></div>"
        ),
        LINES[:3],
        MENU,
    ),
)


def objects_of(kind: Kind) -> tuple[WebObject, ...]:
    return read_objects(page_of(kind.markup, url="http://slip.test" + kind.path)).objects


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_no_kind_of_text_is_lost(kind: Kind) -> None:
    first, *others = objects_of(kind)
    assert {each.type for each in others} <= {"comment"}
    text = flat(str(first.first("body")))
    assert [line for line in kind.has if flat(line) not in text] == []
    assert [line for line in kind.lacks if line in text] == []
