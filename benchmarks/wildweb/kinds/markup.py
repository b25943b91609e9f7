"""Odd markup within texts that are kept, and names of authors that are short, or made of signs."""

from collections.abc import Sequence
from typing import Final

from benchmarks.wildweb.case import Case, WantedObject, WantedPage
from benchmarks.wildweb.dated_pages import Board, Post, block_board, phpbb_board, table_board
from benchmarks.wildweb.pages import document, html, plain_page, prose
from benchmarks.wildweb.tongues import SENTENCES

ODD: Final = "odd markup"
NAMES: Final = "names of authors"


def _odd(name: str, markup: str, *, aside: bool = False) -> Case:
    """Return an article with some markup between its first two paragraphs, and in the middle of its third."""
    first, second, third, fourth, last = (prose(f"{name} {number}") for number in range(5))
    body = (
        f"<div id='content'><h1>The odd boats</h1><p>{first}</p>{markup}<p>{second}</p><p>{third} {markup} {fourth}</p>"
        f"<p>{last}</p></div><p><a href='/next'>the next page</a></p>"
    )
    site = {"/": html(document("The odd boats", body)), "/next": plain_page("The next page")}
    return Case(
        ODD,
        f"odd-{name}",
        site,
        ("/", "/next"),
        objects=(WantedObject("/", first),),
        pages=(WantedPage("/", "The odd boats"),),
        aside=aside,
    )


def _authors(name: str, authors: Sequence[str], board: Board = block_board, *, aside: bool = False) -> Case:
    """Return a thread of three authors with plain dates; their names are written as in HTML."""
    written = [
        Post(author, f"2021-03-{day} 14:05", text)
        for author, day, text in zip(authors, (13, 20, 27), SENTENCES["en"], strict=True)
    ]
    seed = "/viewtopic.php?t=7" if board is phpbb_board else "/topic.php?t=7"
    plain = [author.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for author in authors]
    wanted = [
        WantedObject(seed, text[:40], (f"2021-03-{day}",), (author,))
        for author, day, text in zip(plain, (13, 20, 27), SENTENCES["en"], strict=True)
    ]
    may = r".*viewtopic\.php\?.*|.*memberlist\.php.*" if board is phpbb_board else ""
    site = {seed: html(board(f"Boats and {name}", "en", written))}
    return Case(NAMES, f"names-{name}", site, objects=wanted, seeds=(seed,), may=may, aside=aside)


CASES: Final = (
    _odd("office", "<p class=MsoNormal>Said once.<o:p></o:p></p>"),
    _odd("office-empty", "<o:p>&nbsp;</o:p>"),
    _odd("office-heading", "<h2>The boats<o:p></o:p> <o:p>again</o:p></h2>"),
    _odd("place-heading", "<h3 class=lane><st1:place>Harbour</st1:place> Lane</h3>"),
    _odd("office-code", "<pre><code>if boat: <o:p>sail</o:p></code></pre>"),
    _odd("office-list", "<ul><li>One boat<o:p></o:p></li><li><o:p>Two boats</o:p></li></ul>"),
    _odd("office-quote", "<blockquote><p>Said <o:p>so</o:p></p><o:p>and so</o:p></blockquote>"),
    _odd("shape", '<v:shape id="_x0000_i1025" style="width:1pt"><v:imagedata src="x.gif"/></v:shape>'),
    _odd("like", '<fb:like href="http://odd-like.example/" send="false"></fb:like>'),
    _odd("place", '<st1:place w:st="on">Harbour Lane</st1:place>'),
    _odd("plus", "<g:plusone size='small' />"),
    _odd("label", '<asp:Label ID="Label1" runat="server">Label</asp:Label>'),
    _odd("xml-namespace", '<?xml:namespace prefix = o ns = "urn:schemas-microsoft-com:office:office" />'),
    _odd("conditional", "<!--[if gte mso 9]><xml><w:WordDocument></w:WordDocument></xml><![endif]-->"),
    _odd("conditional-open", "<![if !supportEmptyParas]>&nbsp;<![endif]>"),
    _odd("point", "<foo.bar>said</foo.bar>"),
    _odd("underscore", "<my_tag>said</my_tag>"),
    _odd("signs", "<tag=3>said</tag=3><x+y>said</x+y>"),
    _odd("letters", "<тег>said</тег>"),
    _odd("colons", "<a:b:c>said</a:b:c><:x>said</:x><x:>said</x:>"),
    _odd("attributes", '<span "="" on"click=1 =x \'y\' 1=2 :a=b @c=d #e>said</span>'),
    _odd("unclosed-quote", '<font color="red size=2>said</font> and "so on">more</font>'),
    _odd("zero", "said\x00so<b\x00>bold</b>"),
    _odd("controls", "said\x01\x02\x08\x0b\x1f\x7f so"),
    _odd("references", "&#0; &#xD800; &#x110000; &#128; &unknown; &amp"),
    _odd("cdata", "<![CDATA[ said <b>so</b> ]]>"),
    _odd("server-code", '<?php echo "said"; ?><% Response.Write("so") %>'),
    _odd("end-tags", "</br></p></span></o:p></table>"),
    _odd("deep", "<div>" * 700 + "said" + "</div>" * 700),
    _odd("deep-fonts", "<font><b><i>" * 150 + "said"),
    _odd("emoji", '<span 🐟="x" data-🐟>said</span><🐟>said</🐟>'),
    _odd("template", "<template><p>said</p></template><slot name=x>said</slot>"),
    _odd("colon-attributes", '<span xml:lang="en" xlink:href="x" a:b:c="d" xmlns:o="x y">said</span>'),
    _odd("shape-heading", "<h4><v:textbox>A boat</v:textbox></h4>", aside=True),
    _odd("reader", '<rdf:RDF><cc:Work rdf:about=""><dc:title>said</dc:title></cc:Work></rdf:RDF>', aside=True),
    _odd(
        "form-colon",
        '<ui:composition template="/x.xhtml"><h:outputText value="#{bean.x}"/></ui:composition>',
        aside=True,
    ),
    _odd("digits", "<3 boats and <1> more</1>", aside=True),
    _odd("svg-colon", "<svg><sodipodi:namedview id='x'/><o:p>said</o:p></svg>", aside=True),
    _odd("math", "<math><m:mi>x</m:mi><annotation-xml>said</annotation-xml></math>", aside=True),
    _authors("letters", ["a", "B", "x"]),
    _authors("letters-phpbb", ["a", "B", "x"], phpbb_board),
    _authors("letters-table", ["a", "Q", "z"], table_board),
    _authors("brackets", ["-=[X]=-", "[Kdo]", "{mike}"]),
    _authors("brackets-phpbb", ["-=[X]=-", "[Kdo]", "{mike}"], phpbb_board),
    _authors("waves", ["~*~Moon~*~", "xX_Dark_Xx", "..::Ace::.."]),
    _authors("waves-table", ["~*~Moon~*~", "xX_Dark_Xx", "..::Ace::.."], table_board),
    _authors("signs", ["***", "^_^", "$$$"], phpbb_board),
    _authors("emoji", ["🐟", "Ann 🐟", "🚢🚢"], phpbb_board),
    _authors("emoji-blocks", ["🐟 Fisher", "Ann 🐟", "🚢 Bo"]),
    _authors("scripts", ["Ж", "李", "あ"], phpbb_board),
    _authors("scripts-blocks", ["Ж", "李", "あ"]),
    _authors("digits", ["007", "4711", "42"], phpbb_board),
    _authors("angles", ["&lt;Bob&gt;", "A&amp;B", "&lt;3"], phpbb_board),
    _authors("points", ["J.", "Dr. No", "P.S."]),
    _authors("slashes", ["n/a_boy", "\\o/", "/dev/null"], phpbb_board),
    _authors("hyphens", ["--Tom--", "_Ann_", "=Bo="], aside=True),
    _authors("pipes", ["|Kim|", "(o)Lee", "!Jo!"], phpbb_board, aside=True),
    _authors("two-letters", ["Al", "Bo", "Cy"], table_board, aside=True),
)
