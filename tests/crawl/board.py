"""A small forum on loopback whose threads change from crawl to crawl, and a knowledge base that knows it."""

from collections.abc import Mapping
from pathlib import Path

from tests.crawl.site import Reply, Site

FIELDS = '<field name="body"><select css=".said"/></field>'
KNOWN = """<?xml version="1.0"?>
<application name="Tiny Board" kind="web-forum">
  <detect><pattern strength="proof" css="#tiny-board" cite="unproven: made up"/></detect>
  <level name="front" role="intermediate">
    <when css="ul.threads"/>
    <navigate name="threads" to="thread"><select css="ul.threads a"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="div.posts"/>
    <navigate name="threads" to="thread"><select css="a.thread"/></navigate>
    <extract name="posts" type="post" many="yes">
      <item css="div.post"/>
      <identity><select xpath="@id"/></identity>
      {fields}
    </extract>
  </level>
</application>
"""
STYLE = '<link rel="stylesheet" href="/style.css">'


def know(folder: Path, fields: str = FIELDS) -> Path:
    """Write a knowledge base whose posts have these fields; return its folder."""
    file = folder / "applications" / "board.xml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KNOWN.format(fields=fields), "utf-8")
    return folder


def page(body: str, **headers: str) -> Reply:
    """Return a page of the forum; ``ETag`` and ``Last_Modified`` let others ask whether it has changed."""
    text = (
        f"<!doctype html><html lang=en><head><title>Board</title>{STYLE}</head><body id=tiny-board>{body}</body></html>"
    )
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(text.encode(), headers={"Content-Type": "text/html; charset=utf-8", **fields})


def thread(posts: Mapping[str, str], *links: str, **headers: str) -> Reply:
    """Return a thread of posts by their ids."""
    written = "".join(
        f"<div class=post id={name}><b>{name}</b><p class=said>{said}</p></div>" for name, said in posts.items()
    )
    others = "".join(f'<a class=thread href="{to}">more</a>' for to in links)
    return page(f"<div class=posts>{written}</div>{others}", **headers)


def front(*threads: str) -> Reply:
    """Return the front page, which says nothing about when it changed."""
    return page("<ul class=threads>" + "".join(f'<li><a href="{to}">{to}</a></li>' for to in threads) + "</ul>")


FLOOD = "The storm surge broke the dike, and the harbour stood under the flood."
DATE = "Sat, 01 Feb 2020 10:00:00 GMT"


def board() -> Site:
    """Return the forum as a first crawl meets it."""
    posts = {f"p{number}": f"{FLOOD} {number}" for number in (1, 2, 3)}
    css, png = {"Content-Type": "text/css"}, {"Content-Type": "image/png"}
    site = Site({"/robots.txt": Reply(b"User-agent: *\nDisallow: /no\n", headers={"ETag": '"r"'})})
    site.pages |= {
        "/": front("/t/tag", "/t/date", "/t/same", "/t/edited", "/t/moved", "/t/gone", "/t/lost", "/old"),
        "/t/tag": thread(posts, "/no/1", ETag='W/"1"'),
        "/t/date": thread({"p4": FLOOD}, Last_Modified=DATE),
        "/t/same": thread({"p5": FLOOD}),
        "/t/edited": thread({"p6": FLOOD, "p7": FLOOD}, ETag='"e1"'),
        "/t/moved": thread({"p8": FLOOD, "p9": FLOOD}, Last_Modified=DATE),
        "/t/gone": thread({"p10": FLOOD}),
        "/t/lost": thread({"p11": FLOOD}, ETag='"l"'),
        "/old": Reply(b"It is elsewhere.", 301, {"Location": "/t/tag", "ETag": '"o"'}),
        "/style.css": Reply(b"@import 'more.css';", headers={**css, "ETag": '"s"'}),
        "/more.css": Reply(b"body { background: url(back.png) }", headers={**css, "Last-Modified": DATE}),
        "/back.png": Reply(b"\x89PNG", headers={**png, "ETag": '"b"'}),
    }
    return site


def a_month_later(site: Site) -> None:
    """Let people write, edit and remove things."""
    site.pages["/t/edited"] = thread({"p6": FLOOD, "p7": f"{FLOOD} Edited."}, ETag='"e2"')
    later = "Sun, 01 Mar 2020 10:00:00 GMT"
    site.pages["/t/moved"] = thread({"p9": FLOOD, "p12": f"{FLOOD} And again."}, "/t/new", Last_Modified=later)
    site.pages["/t/new"] = thread({"p13": f"{FLOOD} Anew."}, ETag='"n"')
    site.pages["/t/gone"] = Reply(b"<h1>Gone</h1>", 410)
    del site.pages["/t/lost"]
