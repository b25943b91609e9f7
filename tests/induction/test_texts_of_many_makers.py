# ruff: noqa: E501 - markup is as wide as it is written
"""Texts in the templates of further makers: documentation, shops, wikis, builders of sites, authorities, networks of blogs."""

import json

import pytest

from tests.induction.test_kinds_of_texts import GERMAN, LINES, paragraphs
from tests.induction.test_texts_of_the_web_at_large import Kind, flat, objects_of

KOREAN = (
    "이 선가대는 청어가 오지 않아 남자들이 달리 할 일이 없던 1887년 겨울에 손으로 파낸 것이다.",
    "돌은 대부분 교회 뒤 채석장에서 왔고 나머지는 섬에서 거룻배로 실어 왔다.",
    "협회가 이곳을 산 뒤로 마흔 명쯤이 토요일을 내놓았고 권양기는 다시 돌아간다.",
    "썰물 때 선가대를 걸어 보려는 사람은 튼튼한 신발을 신고 먼저 창고에 알려 주기 바란다.",
)
TURKISH = (
    "Kızak, 1887 kışında ringa gelmeyince ve erkeklerin yapacak başka işi kalmayınca elle kazıldı.",
    "Taşların çoğu kilisenin arkasındaki ocaktan geldi, kalanı adadan mavnalarla taşındı.",
    "Dernek burayı aldığından beri kırk kadar kişi cumartesilerini verdi ve vinç yeniden dönüyor.",
    "Sular çekildiğinde kızakta yürümek isteyen sağlam ayakkabı giysin ve önce kulübeye haber versin.",
)
GREEK = (
    "Η γλίστρα σκάφτηκε με τα χέρια τον χειμώνα του 1887, όταν δεν ήρθε η ρέγγα και οι άντρες δεν είχαν άλλη δουλειά.",
    "Οι περισσότερες πέτρες ήρθαν από το λατομείο πίσω από την εκκλησία και οι υπόλοιπες με μαούνες από το νησί.",
    "Από τότε που την αγόρασε ο σύλλογος, σαράντα άνθρωποι έδωσαν τα Σάββατά τους και το βίντσι γυρίζει πάλι.",
)

DATA = json.dumps(
    {
        "props": {
            "pageProps": {
                "article": {"title": "The old slip", "slug": "slip", "body": paragraphs(LINES[:6])},
                "related": [{"title": "The shed", "body": "<p>It has a roof.</p>"}],
            }
        }
    }
)

KINDS = (
    Kind(
        "a chapter of documentation with marks behind headings",
        "<!DOCTYPE html><html lang=en><head><title>The old slip &#8212; Harbour manual 2.1 documentation</title></head><body>"
        "<div class=related role=navigation><h3>Navigation</h3><ul><li class=right><a href=genindex.html>index</a></li><li class=right><a href=shed.html>next</a> |</li><li class=nav-item><a href=index.html>Harbour manual 2.1 documentation</a> &#187;</li></ul></div>"
        f"<div class=document><div class=documentwrapper><div class=bodywrapper><div class=body role=main><section id=slip><h1>The old slip<a class=headerlink href=#slip title='Link to this heading'>¶</a></h1>{paragraphs(LINES[:3])}"
        f"<div class='admonition note'><p class=admonition-title>Note</p><p>{LINES[10]}</p></div><section id=winch><h2>The winch<a class=headerlink href=#winch>¶</a></h2>{paragraphs(LINES[3:6])}</section></section></div></div></div>"
        "<div class=sphinxsidebar role=navigation><h3><a href=index.html>Table of Contents</a></h3><ul><li><a href=#slip>The old slip</a></li></ul><h4>Previous topic</h4><p class=topless><a href=quay.html>The quay</a></p></div></div><div class=footer>&#169; Copyright 2021, Harbour Society.</div>",
        (*LINES[:6], LINES[10]),
        ("Table of Contents", "Copyright", "¶"),
    ),
    Kind(
        "a page of documentation with a list of what is on it",
        "<title>The old slip | Harbour Docs</title><body><nav class=navbar><a href=/>Harbour Docs</a></nav><div class=main-wrapper><aside class=theme-doc-sidebar-container><ul><li><a href=/docs/quay>The quay</a></li></ul></aside>"
        f"<main><div class=row><div class=col><article><nav class=theme-doc-breadcrumbs><ul><li><a href=/docs>Docs</a></li></ul></nav><div class=theme-doc-markdown><header><h1>The old slip</h1></header>{paragraphs(LINES[:5])}</div>"
        "<footer class=theme-doc-footer><a href=/edit>Edit this page</a><span>Last updated on <b><time datetime=2023-04-05>Apr 5, 2023</time></b> by <b>Ann</b></span></footer></article><nav class=pagination-nav><a href=/docs/shed>Next: The shed</a></nav></div><div class='col col--3'><ul class=table-of-contents><li><a href=#winch>Winch</a></li></ul></div></div></main></div>",
        LINES[:5],
        ("Last updated", "Edit this page", "Next: The shed"),
    ),
    Kind(
        "an entry of an encyclopedia that readers write",
        "<title>The old slip - Harbourpedia</title><body class='mediawiki ns-0'><div id=content class=mw-body role=main><h1 id=firstHeading class=firstHeading>The old slip</h1><div id=bodyContent class=vector-body><div id=siteSub>From Harbourpedia, the free harbour</div><div id=mw-content-text><div class=mw-parser-output>"
        f"<table class=infobox><tbody><tr><th colspan=2>The old slip</th></tr><tr><th>Built</th><td>1887</td></tr></tbody></table><p>{LINES[0]}<sup id=cite_ref-1 class=reference><a href=#cite_note-1>[1]</a></sup></p>{paragraphs(LINES[1:3])}<div id=toc class=toc><h2>Contents</h2><ul><li><a href=#h>1 History</a></li></ul></div>"
        f"<h2><span class=mw-headline id=h>History</span><span class=mw-editsection>[<a href='/edit'>edit</a>]</span></h2>{paragraphs(LINES[3:7])}<div class=navbox><a href=/w/Shed>Shed</a> · <a href=/w/Quay>Quay</a></div></div></div><div id=catlinks><a href=/c>Category</a>: <a href=/c/Slips>Slips</a></div></div></div><div id=mw-navigation><h2>Navigation menu</h2></div><div id=footer><ul><li>This page was last edited on 5 April 2021, at 10:10.</li></ul></div>",
        LINES[1:7],
        ("last edited", "Category", "Contents"),
        path="/wiki/The_old_slip",
    ),
    Kind(
        "a product with its features and what buyers say of it",
        "<title>The old slip, a print in A2 - Harbour Shop</title><body><header><a href=/>Harbour Shop</a><form><input name=q></form></header><main><div class=product><h1 class=product_title>The old slip, a print in A2</h1><p class=price>24.00 €</p><button>Add to cart</button>"
        f"<div class=woocommerce-tabs><ul class=tabs role=tablist><li><a href=#tab-description>Description</a></li><li><a href=#tab-reviews>Reviews (2)</a></li></ul><div id=tab-description class=panel><h2>Description</h2>{paragraphs(LINES[:4])}</div></div></div><section class='related products'><h2>Related products</h2><ul><li><a href=/p/2><h2>The shed, a print</h2><span class=price>18.00 €</span></a></li></ul></section></main>",
        LINES[:4],
        ("Related products", "Add to cart", "18.00"),
        "The old slip, a print in A2",
    ),
    Kind(
        "a recipe in a card below a story",
        f"<title>Herring of the slip - Harbour Kitchen</title><body><article class='post hentry'><h1 class=entry-title>Herring of the slip</h1><p class=entry-meta>by Ann Boyd</p><div class=entry-content>{paragraphs(LINES[:3])}"
        "<div class=wprm-recipe-container><h2 class=wprm-recipe-name>Herring of the slip</h2><span class=wprm-recipe-time>30 minutes</span><h3>Ingredients</h3><ul><li>4 salted herrings, washed and boned</li><li>2 onions in thin rings</li><li>a glass of vinegar</li></ul>"
        "<h3>Instructions</h3><ol><li>Lay the herrings in cold water over night and change it once.</li><li>Boil the vinegar with sugar and the onions, and let it cool.</li><li>Pour it over the fish and wait for two days before you eat.</li></ol></div></div></article><section class=widget><h3>Newest recipes</h3><a href=/r/2>Pea soup</a></section>",
        (
            *LINES[:3],
            "4 salted herrings, washed and boned",
            "Pour it over the fish and wait for two days before you eat.",
        ),
        ("Pea soup",),
        "Herring of the slip",
    ),
    Kind(
        "a site of a builder that names its boxes by numbers",
        "<title>The old slip | Harbour</title><body><div id=SITE_CONTAINER><div id=comp-1 class=_3bL><nav><a href=/>Home</a><a href=/contact>Contact</a></nav></div><div id=PAGES_CONTAINER><div id=comp-2 data-testid=richTextElement class='_2Hij5 _3bcaz'><h1 class=font_0><span style='font-size:40px'>The old slip</span></h1></div>"
        + "".join(
            f"<div id=comp-{n + 3} class='_2Hij5' data-testid=richTextElement><p class=font_8><span style=color:#333><span class=wixGuard>\u200b</span>{line}</span></p></div>"
            for n, line in enumerate(LINES[:5])
        )
        + "</div><div id=comp-60><p class=font_9>©2021 by Harbour. Proudly created by hand</p></div></div>",
        LINES[:5],
        ("Proudly created",),
    ),
    Kind(
        "a notice of an authority with what to do about it",
        f"<title>The old slip: closure in winter - Harbour Council</title><body class=govuk-template__body><header class=govuk-header role=banner><a href=/>Harbour Council</a></header><div class=govuk-width-container><div class=govuk-breadcrumbs><ol><li><a href=/>Home</a></li></ol></div><main class=govuk-main-wrapper id=main-content role=main><span class=govuk-caption-xl>Guidance</span><h1 class=govuk-heading-xl>The old slip: closure in winter</h1><div class=metadata><dl><dt>From:</dt><dd><a href=/o>Harbour Council</a></dd><dt>Published</dt><dd>5 April 2021</dd></dl></div><div class=govspeak>{paragraphs(LINES[:2])}<h2>Who may enter</h2><ul><li>those who have a boat on it;</li><li>the fire brigade, at any time;</li></ul>{paragraphs(LINES[8:10])}</div></main></div><div class=gem-c-feedback><h2>Is this page useful?</h2><button>Yes</button></div><footer class=govuk-footer><h2>Support links</h2></footer>",
        (*LINES[:2], "those who have a boat on it;", *LINES[8:10]),
        ("Is this page useful", "Support links"),
        "The old slip: closure in winter",
    ),
    Kind(
        "a course of a university with hours and a reader",
        f"<title>The old slip as a building | Institute of Harbours</title><body><div id=top><a href=/en>Institute of Harbours</a></div><div class=col-md-3><ul class=submenu><li><a href=/en/courses>Courses</a></li></ul></div><div class=col-md-9><h1>The old slip as a building</h1><table class=table><tr><th>Lecturer</th><td>Dr. Ann Boyd</td></tr><tr><th>Hours</th><td>Tue 10-12</td></tr><tr><th>ECTS</th><td>5</td></tr></table><h2>Contents</h2>{paragraphs(LINES[:3])}<h2>Reading</h2><ul><li>Lund, E.: Slips of the north. Bergen 1961.</li></ul></div><footer>Impressum | Datenschutz</footer>",
        LINES[:3],
        ("Impressum",),
        "The old slip as a building",
    ),
    Kind(
        "a blog of a network with comments closed and dates as links",
        f"<title>Harbour Diary: The old slip</title><body><div class=content-outer><div class=header-inner><h1 class=title><a href=/>Harbour Diary</a></h1></div><div class=main><div class='blog-posts hfeed'><div class=date-outer><h2 class=date-header><span>Monday, April 5, 2021</span></h2><div class=date-posts><div class=post-outer><div class='post hentry'><a name=8071></a><h3 class='post-title entry-title'>The old slip</h3><div class='post-body entry-content'>{'<br /><br />'.join(LINES[:5])}<div style='clear: both;'></div></div><div class=post-footer><span class='post-author vcard'>Posted by <span class=fn>Ann Boyd</span></span> at <a class=timestamp-link href=#><abbr class=published title=2021-04-05T10:00:00Z>10:00</abbr></a> <span class=post-labels>Labels: <a rel=tag href=/l/slip>slip</a></span></div></div><div class=comments id=comments><h4>No comments:</h4></div></div></div></div></div></div><div class=sidebar><h2>Blog Archive</h2><a href=/2021>2021 (12)</a></div></div>",
        LINES[:5],
        ("Labels", "No comments", "Blog Archive", "Posted by"),
        path="/2021/04/slip.html",
    ),
    Kind(
        "a story on a platform, its byline between title and text",
        "<title>The old slip. What a heap of stones can teach us | by Ann Boyd | Harbour Stories | Apr, 2021</title><body><div id=root><div class=ab><a href=/>Harbour Stories</a><a href=/signin>Sign in</a></div><article><div class=l><section><div><h1 class=pw-post-title>The old slip</h1><div><h2 class=pw-subtitle-paragraph>What a heap of stones can teach us</h2></div><div class=speechify><a href=/@ann>Ann Boyd</a><span>·</span><a href=/follow>Follow</a><span>5 min read</span><span>·</span><span>Apr 5, 2021</span></div><div>--</div><div>12</div></div>"
        + "".join(f"<p class=pw-post-body-paragraph>{line}</p>" for line in LINES[:6])
        + "</section></div></article><div><a href=/tag/boats>Boats</a></div><div><h2>Written by Ann Boyd</h2><p>I write about stones and water, and sometimes about the people between them.</p><a href=/follow>Follow</a></div><div><h2>More from Ann Boyd</h2><a href=/s/2><h2>The shed</h2><p>On roofs</p></a></div></div>",
        LINES[:6],
        ("min read", "More from", "Sign in"),
    ),
    Kind(
        "a letter of a service for newsletters",
        f"<title>The old slip - by Ann Boyd - Letters from the harbour</title><body><div class=main-menu><a href=/>Letters from the harbour</a><button>Subscribe</button><button>Sign in</button></div><div class=single-post-container><article class=typography><div class=post-header><h1 class='post-title published'>The old slip</h1><h3 class=subtitle>What a heap of stones can teach us about time.</h3><div class=byline-wrapper><a href=/@ann>Ann Boyd</a><div class=pencraft>Apr 05, 2021</div><a class=post-ufi-button href=#>12</a><button>Share</button></div></div><div class=available-content><div class='body markup'>{paragraphs(LINES[:5])}<div class=subscription-widget-wrap><div class=preamble><p>Thanks for reading Letters from the harbour! Subscribe for free to receive new posts and support my work.</p></div><form><input type=email></form></div>{paragraphs(LINES[5:7])}</div></div></article></div>",
        LINES[:7],
        ("Thanks for reading", "Share"),
    ),
    Kind(
        "news of a German town with a picture and who to ask",
        f"<!DOCTYPE html><html lang=de><head><title>Die alte Helling: Stadt Hafen</title></head><body><div id=page><div id=header><a href=/>Stadt Hafen</a></div><div id=c12 class='frame frame-default'><div class=news-single><div class=article itemscope><div class=header><h1 itemprop=headline>Die alte Helling</h1></div><div class=footer><p><span class=news-list-date><time datetime=2021-04-05>05.04.2021</time></span></p></div><div class=teaser-text><p>{GERMAN[0]}</p></div><div class=news-img-wrap><figure><img src=h.jpg><figcaption>Foto: Stadt Hafen</figcaption></figure></div><div class=news-text-wrap>{paragraphs(GERMAN[1:])}</div></div></div></div><div id=footer>Stadt Hafen, Am Kai 4 | Impressum</div></div>",
        GERMAN,
        ("Foto:", "Impressum"),
        "Die alte Helling",
    ),
    Kind(
        "Korean news with the address of who wrote",
        f"<html lang=ko><head><title>오래된 선가대 - 항구신문</title></head><body><div id=gnb><a href=/>항구신문</a></div><div class=article_head><h3 class=tit_view>오래된 선가대</h3><span class=info_view><span class=txt_info>김하늘 기자</span> <span class=txt_info>입력 2021.04.05. 10:00</span></span></div><div id=harmonyContainer class=article_view><section>{paragraphs(KOREAN)}</section></div><div class=copyright><p>Copyrights © 항구신문 무단전재 및 재배포 금지</p></div>",
        KOREAN,
        ("무단전재",),
        "오래된 선가대",
    ),
    Kind(
        "Turkish news with shares and a strip of other news",
        f"<html lang=tr><head><title>Eski kızak - Liman Haber</title><meta property=og:title content='Eski kızak'></head><body><div class=ust-menu><ul><li><a href=/spor>Spor</a></li></ul></div><div class=haber-detay><h1>Eski kızak</h1><h2 class=spot>{TURKISH[0]}</h2><div class=tarih>05 Nisan 2021 10:00</div><div class=paylas><a href=#>Paylaş</a></div><div class=haber-metni>{paragraphs(TURKISH[1:])}</div></div><div class=diger><h3>Diğer haberler</h3><a href=/h/2>Kulübenin çatısı bitti</a></div>",
        TURKISH,
        ("Diğer haberler", "Paylaş"),
        "Eski kızak",
    ),
    Kind(
        "a Greek page of old frames with a table around its text",
        f"<html><head><title>Η παλιά γλίστρα</title></head><body bgcolor=#ffffff><table width=600 align=center><tr><td><font size=5><b>Η παλιά γλίστρα</b></font><hr><font face=Arial>{'<br><br>'.join(GREEK)}</font><hr><a href=index.html>Πίσω</a></td></tr></table>",
        GREEK,
        (),
        "Η παλιά γλίστρα",
    ),
    Kind(
        "a page of a script that keeps its text in data",
        f"<title>The old slip</title><body><div id=__next><div class=spinner></div></div><script id=__NEXT_DATA__ type=application/json>{DATA}</script>",
        LINES[:6],
        ("It has a roof",),
    ),
    Kind(
        "an answer of a help centre with a vote below",
        f"<title>How do I enter the old slip? – Harbour Help</title><body><header class=header><a href=/hc>Harbour Help</a></header><main role=main><nav class=sub-nav><ol class=breadcrumbs><li><a href=/hc>Harbour Help</a></li></ol></nav><div id=help class=help-center><article class=article><header class=article-header><h1 class=article-title>How do I enter the old slip?</h1><ul class=meta-group><li class=meta-data><time datetime=2021-04-05>2 years ago</time></li></ul></header><section class=article-info><div class=article-body>{paragraphs(LINES[8:12])}</div></section><footer><div class=article-votes><span>Was this article helpful?</span><small>3 out of 4 found this helpful</small></div></footer></article></div></main>",
        LINES[8:12],
        ("helpful",),
        "How do I enter the old slip?",
    ),
    Kind(
        "an article of a journal with an abstract, sections and references",
        f"<title>The old slip: a survey | Journal of Harbours</title><body><header><a href=/>Journal of Harbours</a></header><main><article><h1>The old slip: a survey</h1><ul class=authors><li>Ann Boyd</li><li>Ole Berg</li></ul><section class=abstract><h2>Abstract</h2><p>{LINES[0]}</p></section><section><h2>1. Introduction</h2>{paragraphs(LINES[1:4])}</section><section><h2>2. Results</h2>{paragraphs(LINES[4:7])}</section><section class=ref-list><h2>References</h2><ol><li>Lund E. Slips of the north. Bergen; 1961.</li></ol></section></article></main><footer>ISSN 1234-5678</footer>",
        LINES[:7],
        ("ISSN",),
        "The old slip: a survey",
    ),
    Kind(
        "a review with marks out of ten and a verdict",
        f"<title>The old slip review: steep but honest | Harbour Games</title><body><nav><a href=/>Harbour Games</a></nav><main><article><header><p class=kicker>Review</p><h1>The old slip review: steep but honest</h1><p class=byline>By <a href=/a/ann>Ann Boyd</a> published <time datetime=2021-04-05>April 5, 2021</time></p></header><div id=article-body>{paragraphs(LINES[:4])}<div class=pretty-verdict><h3>Verdict</h3><p>{LINES[10]}</p></div></div><div class=vanilla-socials>Follow us</div></article><aside><h3>Latest</h3><a href=/n/1>News from the shed</a></aside></main>",
        (*LINES[:4], LINES[10]),
        ("Follow us", "News from the shed"),
        "The old slip review: steep but honest",
    ),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_text_is_found_without_its_frame(kind: Kind) -> None:
    found = [each for each in objects_of(kind) if each.type != "comment"]
    assert len(found) == 1
    text = flat(str(found[0].first("body")))
    assert [line for line in kind.has if flat(line) not in text] == []
    assert [line for line in kind.lacks if line in text] == []
    assert found[0].first("title") == kind.title
