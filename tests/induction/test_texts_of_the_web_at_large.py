# ruff: noqa: E501 - markup is as wide as it is written
"""Texts of more kinds, in the boxes that the web puts around and into them: each is found whole, with its title."""

from dataclasses import dataclass

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.webobject import WebObject
from tests.induction.test_kinds_of_texts import LINES, MENU, framed, paragraphs
from tests.page.building import page_of

THAI = (
    "ทางลาดนี้ถูกขุดด้วยมือในฤดูหนาวปี พ.ศ. ๒๔๓๐ เมื่อปลาเฮอริงไม่มาและผู้ชายทั้งหมู่บ้านไม่มีอะไรอย่างอื่นให้ทำ",
    "หินส่วนใหญ่มาจากเหมืองหลังโบสถ์ ส่วนที่เหลือถูกขนมาจากเกาะด้วยเรือท้องแบนตลอดทั้งปี",
    "ตั้งแต่สมาคมซื้อที่นี่ มีคนประมาณสี่สิบคนสละวันเสาร์ของตนเพื่องานนี้ และกว้านก็หมุนได้อีกครั้ง",
    "ผู้ที่ต้องการเดินบนทางลาดเมื่อน้ำลงควรสวมรองเท้าที่แข็งแรงและแจ้งที่โรงเก็บของก่อนทุกครั้ง",
)
HEBREW = (
    "המגלש נחפר ביד בחורף של 1887, כאשר דגי המליח לא הגיעו ולגברים לא היה שום דבר אחר לעשות.",
    "רוב האבן הגיעה מהמחצבה שמאחורי הכנסייה, והשאר הובא מן האי על גבי דוברות שטוחות.",
    "מאז שהאגודה קנתה אותו נתנו כארבעים איש את ימי השבת שלהם לעבודה, והכננת מסתובבת שוב.",
    "מי שרוצה ללכת על המגלש בשעת השפל ינעל נעליים חזקות ויודיע תחילה למי שנמצא בצריף.",
)
HINDI = (
    "यह ढलान 1887 की सर्दियों में हाथ से खोदी गई थी, जब हेरिंग मछली नहीं आई और पुरुषों के पास कोई और काम नहीं था।",
    "अधिकतर पत्थर गिरजाघर के पीछे की खदान से आया, और बाकी द्वीप से नावों पर लाया गया।",
    "जब से समिति ने इसे खरीदा है, लगभग चालीस लोगों ने अपने शनिवार इसे दिए हैं, और चरखी फिर से घूमती है।",
    "जो ढलान पर भाटे के समय चलना चाहता है, वह मजबूत जूते पहने और पहले शेड में बता दे।",
)
CHINESE = (
    "这条船台是一八八七年冬天用手挖成的，当时鲱鱼没有来，男人们没有别的事可做。",
    "大部分石头来自教堂后面的采石场，其余的用驳船从岛上运来。",
    "自从协会买下这里以来，大约有四十人献出了自己的星期六，绞车又能转动了。",
    "想在退潮时走上船台的人应当穿结实的鞋子，并先到棚屋里打个招呼。",
    "账簿的最后一页只有一行字，至今没有人知道那是什么意思。",
)
VERSE = (
    "The tide was late, the key was hung",
    "Where keys had always been,",
    "And not a bell was ever rung",
    "For what the rain washed clean.",
    "My father held the heavy line,",
    "My mother held the light,",
    "And all the herring in the brine",
    "Went westward in the night.",
    "O slip of stone, o slip of sand,",
    "Where have the barrels gone?",
    "The winch is red beneath my hand,",
    "The morning carries on.",
)
COOKIES = (
    "<p>We and our 834 partners store and access information on your device, such as unique identifiers in cookies, to process personal data.</p>"
    "<p>You may accept or manage your choices, including your right to object where legitimate interest is used, at any time on the privacy page.</p>"
    "<p>These choices will be signaled to our partners and will not affect browsing data. Read more in our cookie policy and our statement on privacy.</p>"
    "<p>Use precise geolocation data. Actively scan device characteristics for identification. Personalised advertising and content, measurement of both.</p>"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A page with one text: lines that its first object must have, words that it may not have, and its title."""

    name: str
    markup: str
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    title: str = "The old slip"
    path: str = "/slip.html"


def teaser(number: int) -> str:
    return (
        f"<div class=card><a href='/story/{number}'><h3>What became of the boat number {number}</h3></a>"
        f"<p>She was sold to the south in the year {1900 + number}, and what happened then is told here.</p></div>"
    )


KINDS = (
    Kind(
        "a shop's page that declares a short description of its product",
        framed(
            "<h1>Oak block, large</h1><span class=price>49.00 EUR</span><button>Add to cart</button><div class=description>"
            + paragraphs(LINES[:6])
            + "</div><h2>You may also like</h2>"
            + "".join(
                f"<div class=item><a href='/p/{n}'>Oak block {n}</a> <span>{n}9.00 EUR</span></div>" for n in range(4)
            ),
            "Oak block, large",
            '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Oak block, large",'
            '"description":"A block of oak as it was used on the old slip, with a sheave of brass."}</script>',
        ),
        LINES[:6],
        (*MENU, "Oak block 3"),
        "Oak block, large",
    ),
    Kind(
        "an advertisement of a job",
        framed(
            "<h1>Boat builder (part time)</h1><dl><dt>Place</dt><dd>Hill Town</dd><dt>Begin</dt><dd>1 May</dd></dl><p>"
            + LINES[11]
            + "</p><h2>What you do</h2><ul><li>You repair clinker boats together with two colleagues.</li><li>You teach our volunteers how planks are steamed and bent.</li>"
            "<li>You look after the winch and the rails.</li></ul><h2>What you bring</h2><ul><li>A finished apprenticeship, or many years of practice.</li><li>Patience with people who ask.</li></ul>"
            "<form action=/apply><input name=name><textarea name=letter></textarea><button>Apply</button></form>",
            "Boat builder (part time)",
        ),
        (LINES[11], "You teach our volunteers how planks are steamed and bent.", "Patience with people who ask."),
        MENU,
        "Boat builder (part time)",
    ),
    Kind(
        "an event with a short text",
        framed(
            "<h1>Open day on the slip</h1><p class=when>Saturday, 12 May 2018, 10:00 to 16:00</p><p class=where>Quay Street 4</p><p>"
            + LINES[12]
            + " "
            + LINES[13]
            + "</p><h3>More events</h3><ul>"
            + "".join(f"<li><a href='/event/{n}'>Evening number {n}</a> {n} June 2018</li>" for n in range(1, 6))
            + "</ul>",
            "Open day on the slip",
        ),
        (LINES[12], LINES[13]),
        (*MENU, "Evening number"),
        "Open day on the slip",
    ),
    Kind(
        "a poem, a line for each verse",
        framed("<h1>The tide was late</h1><p>by Ann Boyd</p><p>" + "<br>\n".join(VERSE) + "</p>", "The tide was late"),
        VERSE,
        MENU,
        "The tide was late",
    ),
    Kind(
        "a poem by stanzas of div elements",
        framed(
            "<div class=poem><h2>The tide was late</h2>"
            + "".join(
                "<div class=stanza>" + "".join(f"<div class=line>{line}</div>" for line in VERSE[n : n + 4]) + "</div>"
                for n in (0, 4, 8)
            )
            + "</div>",
            "The tide was late",
        ),
        VERSE,
        MENU,
        "The tide was late",
    ),
    Kind(
        "a glossary of short entries",
        framed(
            "<h1>Words of the slip</h1><dl>"
            + "".join(
                f"<dt>{word}</dt><dd>{meaning}</dd>"
                for word, meaning in (
                    ("Adze", "A tool for hewing planks, its edge stands across the handle."),
                    ("Cradle", "The frame in which a boat is drawn up."),
                    ("Garboard", "The plank next to the keel."),
                    ("Sheer", "The line of the upper edge of a boat, seen from the side."),
                    ("Winch", "A drum that is turned to wind up a rope."),
                    ("Strake", "A row of planks from bow to stern."),
                    ("Thwart", "A bench across a boat, on which one rows."),
                )
            )
            + "</dl>",
            "Words of the slip",
        ),
        ("The plank next to the keel.", "A drum that is turned to wind up a rope."),
        MENU,
        "Words of the slip",
    ),
    Kind(
        "answers below questions that lead to themselves",
        framed(
            "<h1>Questions and answers</h1><ul>"
            + "".join(f"<li><a href='#q{n}'>Question number {n}, which many ask?</a></li>" for n in range(5))
            + "</ul>"
            + "".join(
                f"<h3 id=q{n}><a href='#q{n}'>Question number {n}, which many ask?</a></h3><p>{LINES[n]}</p>"
                for n in range(5)
            ),
            "Questions and answers",
        ),
        LINES[:5],
        MENU,
        "Questions and answers",
    ),
    Kind(
        "an open letter with those who signed it",
        framed(
            "<h1>Keep the slip open</h1><p>Dear members of the council,</p>"
            + paragraphs(LINES[8:12])
            + "<p>Yours sincerely</p><ul>"
            + "".join(
                f"<li>{first} {last}, Hill Town</li>"
                for first in ("Ann", "Carl", "Ida")
                for last in ("Boyd", "Ness", "Vos")
            )
            + "</ul>",
            "Keep the slip open",
        ),
        LINES[8:12],
        MENU,
        "Keep the slip open",
    ),
    Kind(
        "an accelerated page",
        "<!doctype html><html amp><head><title>The old slip</title><link rel=canonical href='https://a.test/slip'></head><body>"
        "<amp-sidebar id=side layout=nodisplay><ul><li><a href='/news'>News</a></li><li><a href='/people'>People</a></li></ul></amp-sidebar>"
        "<header><a href='/'>Harbour News</a></header><article><h1>The old slip</h1><amp-img src=slip.jpg width=300 height=200></amp-img>"
        + paragraphs(LINES[:3])
        + "<amp-ad width=300 height=250 type=x></amp-ad>"
        + paragraphs(LINES[3:7])
        + "<amp-list src=more.json></amp-list></article><footer><p>Harbour News, 4 Quay Street.</p></footer></body></html>",
        LINES[:7],
        ("Quay Street", "People"),
    ),
    Kind(
        "the beginning of a text that has to be paid for",
        framed(
            "<article><h1>The old slip</h1><p class=lead>"
            + LINES[0]
            + "</p><p>"
            + LINES[2]
            + "</p><div class=paywall><h2>Go on reading with Harbour News Plus</h2><p>All texts, all pictures and the paper as it is printed, for 4.99 a month.</p>"
            "<p>Do you have a subscription already? <a href='/login'>Sign in</a></p></div></article>"
        ),
        (LINES[0], LINES[2]),
        MENU,
    ),
    Kind(
        "a wall of consent before a short text",
        "<!doctype html><html><head><title>The old slip</title></head><body>"
        f"<div id=cmpbox role=dialog aria-modal=true><h2>Your privacy</h2>{COOKIES}<button>Accept all</button></div>"
        f"<main><h1>The old slip</h1>{paragraphs(LINES[:3])}</main></body></html>",
        LINES[:3],
        ("834 partners", "geolocation"),
    ),
    Kind(
        "a wall of consent in boxes that say nothing else",
        "<!doctype html><html><head><title>The old slip</title></head><body>"
        f"<div class='cookie-consent'><div><h2>Your privacy</h2>{COOKIES}<button>Accept all</button></div></div>"
        f"<div class=c1><div class=c2><h1>The old slip</h1>{paragraphs(LINES[:3])}</div></div></body></html>",
        LINES[:3],
        ("834 partners", "geolocation"),
    ),
    Kind(
        "teasers amid the text",
        framed(
            "<article><h1>The old slip</h1>"
            + paragraphs(LINES[:3])
            + f"<div class=also><strong>Read also</strong>{teaser(3)}</div>"
            + paragraphs(LINES[3:6])
            + f"<div class=also><strong>Read also</strong>{teaser(8)}</div>"
            + paragraphs(LINES[6:9])
            + "</article>"
        ),
        LINES[:9],
        MENU,
    ),
    Kind(
        "a newsletter, the author and related texts around an article",
        framed(
            "<article><h1>The old slip</h1>"
            + paragraphs(LINES[:4])
            + "<div class='newsletter-signup'><h3>Our newsletter</h3><p>Every Friday the news of the harbour, free of charge and in your inbox before breakfast.</p><form><input type=email><button>Subscribe</button></form></div>"
            + paragraphs(LINES[4:8])
            + "<div class='author-box'><img src=ann.jpg><h4>Ann Boyd</h4><p>Ann Boyd has written about boats since 1994, and she lives with three cats above the sail loft.</p></div>"
            + "<div class=related><h3>Related</h3>"
            + "".join(map(teaser, range(4)))
            + "</div></article>"
        ),
        LINES[:8],
        (*MENU, "before breakfast", "She was sold to the south"),
    ),
    Kind(
        "notes below a text",
        framed(
            "<h1>The old slip</h1>"
            + "".join(f"<p>{line} <sup><a href='#n{n}'>[{n}]</a></sup></p>" for n, line in enumerate(LINES[:6], 1))
            + "<h2>Notes</h2><ol>"
            + "".join(f"<li id=n{n}>Book of the yard, page {n}. <a href='#r{n}'>^</a></li>" for n in range(1, 7))
            + "</ol>"
        ),
        tuple(line[:80] for line in LINES[:6]),
        MENU,
    ),
    Kind(
        "captions and a drawn-out quote",
        framed(
            "<article><h1>The old slip</h1><figure><img src=a.jpg><figcaption>The winch in 1999. Photograph: Carl Ness</figcaption></figure>"
            + paragraphs(LINES[:3])
            + f"<blockquote class=pullquote>{LINES[4][:40]}</blockquote>"
            + paragraphs(LINES[3:7])
            + "</article>"
        ),
        LINES[:7],
        MENU,
    ),
    Kind("Thai", framed("<h1>ทางลาดเก่า</h1>" + paragraphs(THAI), "ทางลาดเก่า"), THAI, MENU, "ทางลาดเก่า"),
    Kind("Hebrew", framed("<h1>המגלש הישן</h1>" + paragraphs(HEBREW), "המגלש הישן"), HEBREW, MENU, "המגלש הישן"),
    Kind("Hindi", framed("<h1>पुरानी ढलान</h1>" + paragraphs(HINDI), "पुरानी ढलान"), HINDI, MENU, "पुरानी ढलान"),
    Kind(
        "Chinese with breaks and wide spaces",
        framed(
            "<h2>老船台</h2><div>" + "<br><br>".join("\u3000\u3000" + line for line in CHINESE) + "</div>", "老船台"
        ),
        CHINESE,
        MENU,
        "老船台",
    ),
    Kind(
        "a letter of news as it was mailed, a table for each paragraph",
        "<html><head><title>News from the slip</title></head><body><table width=100%><tr><td align=center><table width=600>"
        "<tr><td><a href='https://a.test/browser'>View this email in your browser</a></td></tr><tr><td><h1>News from the slip</h1></td></tr>"
        + "".join(
            f"<tr><td><table><tr><td style='padding:9px'>{line}</td></tr></table></td></tr>" for line in LINES[:7]
        )
        + "<tr><td><table><tr><td>Copyright 2018 Harbour Society, All rights reserved.<br><a href='https://a.test/unsubscribe'>unsubscribe from this list</a></td></tr></table></td></tr>"
        "</table></td></tr></table></body></html>",
        LINES[:7],
        ("View this email",),
        "News from the slip",
    ),
    Kind(
        "a document that an office program published",
        "<html><head><title>The old slip</title></head><body class=c7><p class='c2'><span class=c5>The old slip</span></p>"
        + "".join(
            f"<p class=c1><span class=c0>{line[:50]}</span><span class=c3>{line[50:]}</span></p><p class='c1 c4'><span class=c0></span></p>"
            for line in LINES[:6]
        )
        + "</body></html>",
        LINES[:6],
    ),
    Kind(
        "a landing page of sections, a paragraph in each",
        framed(
            "<main><section class=hero><h1>The old slip</h1><p>"
            + LINES[0]
            + "</p><a class=button href='/visit'>Visit us</a></section>"
            + "".join(
                f"<section class=block><div class=row><div class=col><h2>Part {n}</h2><p>{LINES[n]}</p></div><div class=col><img src=i{n}.jpg></div></div></section>"
                for n in range(1, 7)
            )
            + "</main>"
        ),
        LINES[:7],
        MENU,
    ),
    Kind(
        "a chronicle by years",
        framed(
            "<h1>The slip year by year</h1>" + "".join(f"<h3>{1880 + 9 * n}</h3><p>{LINES[n]}</p>" for n in range(8)),
            "The slip year by year",
        ),
        LINES[:8],
        MENU,
        "The slip year by year",
    ),
    Kind(
        "a chronicle in a table, days in the first column",
        framed(
            "<h1>The slip day by day</h1><table>"
            + "".join(f"<tr><td>{n + 1} May 1998</td><td>{LINES[n]}</td></tr>" for n in range(7))
            + "</table>",
            "The slip day by day",
        ),
        LINES[:7],
        MENU,
        "The slip day by day",
    ),
    Kind(
        "ten things, a heading and a picture each",
        framed(
            "<article><h1>Seven things about the slip</h1><p>"
            + LINES[15]
            + "</p>"
            + "".join(
                f"<h2>{n}. Thing number {n}</h2><figure><img src=t{n}.jpg><figcaption>Picture {n}</figcaption></figure><p>{LINES[n]}</p>"
                for n in range(1, 8)
            )
            + "</article>",
            "Seven things about the slip",
        ),
        (*LINES[1:8], LINES[15]),
        MENU,
        "Seven things about the slip",
    ),
    Kind(
        "a column of advice: a letter and its answer",
        framed(
            "<h1>May I walk on it?</h1><p><em>"
            + LINES[12]
            + " "
            + LINES[9]
            + "</em></p><p><em>Worried in Hill Town</em></p><p>Dear Worried,</p>"
            + paragraphs(LINES[5:9]),
            "May I walk on it?",
        ),
        (*LINES[5:9], LINES[12]),
        MENU,
        "May I walk on it?",
    ),
    Kind(
        "an episode of a podcast with its transcript folded",
        framed(
            "<h1>Episode 12: The old slip</h1><audio controls src=12.mp3></audio><p>"
            + LINES[0]
            + "</p><details><summary>Transcript</summary>"
            + "".join(
                f"<p><b>{name}:</b> {line}</p>" for name, line in zip(("Ann", "Carl") * 3, LINES[1:7], strict=True)
            )
            + "</details><p><a href='/feed'>Subscribe</a></p>",
            "Episode 12: The old slip",
        ),
        (LINES[0], LINES[3], LINES[6]),
        MENU,
        "Episode 12: The old slip",
    ),
    Kind(
        "a drama by speakers in bold type",
        framed(
            "<h1>The launch, a play</h1>"
            + "".join(
                f"<p><b>{name}.</b> {line}</p>"
                for name, line in zip(("COOK", "MATE", "DOG", "COOK") * 2, LINES[4:12], strict=True)
            ),
            "The launch, a play",
        ),
        LINES[4:12],
        MENU,
        "The launch, a play",
    ),
    Kind(
        "a short piece of news",
        framed(
            "<h1>Slip closed on Monday</h1><p class=date>12 May 2018</p><p>" + LINES[12] + "</p>",
            "Slip closed on Monday",
        ),
        (LINES[12],),
        MENU,
        "Slip closed on Monday",
    ),
    Kind(
        "a judgment by numbered paragraphs in a table",
        framed(
            "<h1>Boyd v. Harbour Board</h1><p>Decided 12 May 1998</p><table>"
            + "".join(f"<tr><td valign=top>{n}</td><td>{line}</td></tr>" for n, line in enumerate(LINES[:8], 1))
            + "</table>",
            "Boyd v. Harbour Board",
        ),
        LINES[:8],
        MENU,
        "Boyd v. Harbour Board",
    ),
    Kind(
        "an abstract of a paper",
        framed(
            "<h1>Wear on slips of stone</h1><p class=authors>A. Boyd, C. Ness</p><p>J. Harb. Stud. 12 (2009), 44-61</p><h2>Abstract</h2><p>"
            + " ".join(LINES[:3])
            + "</p><p><a href='/44.pdf'>PDF</a> <a href='/44.bib'>BibTeX</a></p><h2>References</h2><ol>"
            + "".join(f"<li>Ness, C. ({1990 + n}). Stones and tides, part {n}. Hill Town Press.</li>" for n in range(5))
            + "</ol>",
            "Wear on slips of stone",
        ),
        (" ".join(LINES[:3]),),
        MENU,
        "Wear on slips of stone",
    ),
    Kind(
        "an article of an encyclopedia with a box of facts",
        framed(
            "<h1>Old slip</h1><table class=infobox><tr><th colspan=2>Old slip</th></tr><tr><th>Built</th><td>1887</td></tr><tr><th>Length</th><td>40 yards</td></tr></table><p>"
            + LINES[0]
            + "</p><div id=toc><ul><li><a href='#h'>History</a></li><li><a href='#u'>Use</a></li></ul></div><h2 id=h>History <span>[<a href='/edit?s=1'>edit</a>]</span></h2>"
            + paragraphs(LINES[1:5])
            + "<h2 id=u>Use <span>[<a href='/edit?s=2'>edit</a>]</span></h2>"
            + paragraphs(LINES[5:8]),
            "Old slip",
        ),
        LINES[:8],
        MENU,
        "Old slip",
    ),
    Kind(
        "an article whose comments have more text and no names",
        framed(
            "<div class=post><h1>The old slip</h1><div class=meta>12 May 2012 by Ann Boyd</div>"
            + paragraphs(LINES[:2])
            + "</div><h3>9 comments</h3><ol class=commentlist>"
            + "".join(
                f"<li id=comment-{n}><cite>Reader {name}</cite> <small>{n + 13} May 2012 at 10:{n}0</small><p>{LINES[n + 3]} {LINES[n + 4]}</p></li>"
                for n, name in enumerate(("Ida", "Carl", "Pia", "Ben", "Eva", "Tom", "Zoe", "Max", "Liv"))
            )
            + "</ol>"
        ),
        LINES[:2],
        (*MENU, "Reader Ida"),
    ),
    Kind(
        "the second page of a text",
        framed(
            "<h1>The old slip</h1>"
            + paragraphs(LINES[8:14])
            + "<p class=pages>Page: <a href='/slip.html'>1</a> 2 <a href='/slip.html?page=3'>3</a></p>"
        ),
        LINES[8:14],
        MENU,
        path="/slip.html?page=2",
    ),
    Kind(
        "the site's name as the first heading, the title as the second",
        "<html><head><title>The old slip - Harbour News</title></head><body><div id=header><h1><a href='/'>Harbour News</a></h1><p>All that floats, every day and without delay.</p></div>"
        "<div id=content><h2>The old slip</h2>" + paragraphs(LINES[:5]) + "</div></body></html>",
        LINES[:5],
        ("All that floats",),
    ),
    Kind(
        "a title in the head that names the site alone",
        "<html><head><title>Harbour News</title></head><body><p><a href='/'>Harbour News</a></p><div id=content><h1>The old slip</h1>"
        + paragraphs(LINES[:5])
        + "</div></body></html>",
        LINES[:5],
    ),
    Kind(
        "text without paragraphs in the cell of a table amid others",
        "<html><head><title>The old slip</title></head><body bgcolor=white><table border=0><tr><td width=120><a href=a.htm>Home</a><br><a href=b.htm>Boats</a><br><a href=c.htm>Guests</a></td>"
        "<td><h2>The old slip</h2>" + "<p>".join(LINES[:5]) + "</td>"
        "<td width=120><font size=1>News: the winch was oiled. <a href=d.htm>more</a></font></td></tr></table></body></html>",
        LINES[:5],
        ("the winch was oiled",),
    ),
    Kind(
        "terms that ask not to be indexed",
        framed(
            "<h1>Terms of use</h1><ol>"
            + "".join(f"<li><h3>Section {n}</h3><p>{LINES[n]}</p></li>" for n in range(1, 9))
            + "</ol>",
            "Terms of use",
            "<meta name=robots content='noindex,follow'>",
        ),
        LINES[1:9],
        MENU,
        "Terms of use",
    ),
    Kind(
        "a person's page of short lines",
        framed(
            "<h1>Ann Boyd</h1><p>Boat builder, born 1951 in Hill Town. She has led the society's yard since 1998.</p><h3>Life</h3><ul><li>1967 to 1971: apprenticeship with Ness and Sons</li>"
            "<li>1972 to 1990: at sea, last as a carpenter</li><li>1991: master's certificate</li><li>since 1998: head of the yard</li></ul><h3>Boats</h3><ul><li>Margaret II, 2004</li><li>Ida, 2011</li></ul>",
            "Ann Boyd",
        ),
        ("Boat builder, born 1951 in Hill Town.", "1972 to 1990: at sea, last as a carpenter"),
        MENU,
        "Ann Boyd",
    ),
    Kind(
        "a readme with code",
        framed(
            "<h1>slipway</h1><p>A small program that computes the tides of the slip, and tells when the cradle can be lowered.</p><h2>Installation</h2><pre><code>make\nmake install</code></pre><p>It needs nothing but a compiler of C, and a table of the tides of the year.</p>"
            "<h2>Use</h2><pre><code>slipway --year 2018 hilltown.tid</code></pre><p>The output has a line for each day, with the hours between which there is water enough.</p>",
            "slipway",
        ),
        ("A small program that computes the tides of the slip", "make install", "slipway --year 2018 hilltown.tid"),
        MENU,
        "slipway",
    ),
    Kind(
        "a text that a script shows, and that stands beside it for those who run none",
        framed(
            "<div class=post><h2 class=title>The old slip</h2><div class=post-body><div class=post-content><script type='text/template'>"
            + paragraphs(LINES[:7])
            + "</script><noscript>"
            + paragraphs(LINES[:7])
            + "</noscript></div></div></div>"
        ),
        LINES[:7],
        MENU,
    ),
    Kind(
        "a text whose boxes are named by machines",
        "<html><head><title>The old slip – Harbour News</title></head><body><div class=sc-1a2b><a class=x9 href='/'>Harbour News</a><div class=css-77><a href='/boats'>Boats</a><a href='/people'>People</a></div></div>"
        "<div class=sc-9z><div class=css-1q2><h1 class=css-3f>The old slip</h1>"
        + "".join(f"<div class=css-p{n}><span>{line}</span></div>" for n, line in enumerate(LINES[:6]))
        + "</div><div class=css-44>"
        + "".join(
            f"<a class=css-9 href='/story/{n}'><div>What became of the boat number {n}</div><div>She was sold to the south, and what happened then is told here.</div></a>"
            for n in range(5)
        )
        + "</div></div></body></html>",
        LINES[:6],
        ("She was sold to the south",),
    ),
)


def objects_of(kind: Kind) -> list[WebObject]:
    page = page_of(kind.markup.encode(), "https://a.test" + kind.path)
    return [each for each in read_objects(page).objects if each.first("body") is not None]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_text_is_found_without_its_frame(kind: Kind) -> None:
    found = [each for each in objects_of(kind) if each.type != "comment"]
    assert found, "nothing was read"
    text = flat(str(found[0].first("body")))
    assert [line for line in kind.has if flat(line) not in text] == []
    assert [line for line in kind.lacks if line in text] == []
    assert found[0].first("title") == kind.title
