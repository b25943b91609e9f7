"""A recorded site of an invented forum software, small and written by hand, and the file that describes it."""

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.recorded import RecordedSite

APPLICATION = """<?xml version="1.0" encoding="UTF-8"?>
<application name="TinyForum" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum"/>
    <pattern strength="strong" css="div.tf-footer a, p.tf-credit a" literal="tf-"/>
    <pattern strength="strong" cookie="tinyforum[_]*" literal="tinyforum_"/>
    <pattern strength="hint" css="div.tf-nowhere" literal="tf-nowhere"/>
  </detect>
  <avoid><url path="**/reply" reason="reply-form"/></avoid>
  <level name="topic" role="terminal">
    <when path="**/topic/#" css="div.entry, li.message"/>
    <when css="#never-there"/>
    <unless css=".notice-of-removal"/>
    <unless path="**/archive/**"/>
    <address path="**/topic/#"/>
    <navigate name="back" to="board"><select css="a.up, a.home"/></navigate>
    <extract name="posts" type="post" many="yes" always="yes">
      <item xpath="//li[@class='message'] | //div[@class='entry']"/>
      <item css="article.never"/>
      <identity trim="entry-"><select xpath="@id"/></identity>
      <field name="author" kind="person"><select css=".writer"/><select xpath="(.//b | .//i)[1]"/></field>
      <field name="date" kind="datetime"><select css="time" attribute="datetime"/><select css=".when"/></field>
      <field name="mood"><select css=".mood"/></field>
      <field name="body"><select css=".text"/><without css=".signature, .advert"/></field>
    </extract>
    <extract name="polls" type="post">
      <item css="div.poll"/>
      <field name="body"><select css=".question"/></field>
    </extract>
  </level>
  <level name="board" role="intermediate">
    <when css="ul.topics"/>
    <address path="**/"/>
    <navigate name="topics" to="topic"><select css="ul.topics a"/></navigate>
    <navigate name="more" to="topic" when-none="topics pinned"><select css="a" documented="yes"/></navigate>
    <navigate name="pinned" to="topic"><select css="ul.pinned a"/></navigate>
    <navigate name="people" to="person"><select css="a.person"/></navigate>
  </level>
  <level name="person" role="intermediate">
    <when css="div.portrait"/>
    <address path="**/person/#"/>
    <navigate name="friends" to="person"><select css="div.friends a"/></navigate>
  </level>
  <level name="gallery" role="intermediate">
    <when css="div.gallery"/>
    <navigate name="pictures" to="gallery"><select css="div.gallery a"/></navigate>
  </level>
</application>
"""

OTHER = """<?xml version="1.0" encoding="UTF-8"?>
<application name="Elsewhere" kind="web-forum">
  <detect><pattern strength="proof" generator="Elsewhere"/></detect>
  <level name="topic" role="terminal"><when css="div.entry"/>
    <extract name="posts" type="post"><item css="div.entry"/><field name="body"><select css=".text"/></field></extract>
  </level>
</application>
"""

POSTS: Mapping[int, tuple[tuple[int, str, str, str], ...]] = {
    number: tuple(
        (10 * number + place, author, f"2024-0{number}-1{place}T10:00:00+00:00", text)
        for place, (author, text) in enumerate(texts)
    )
    for number, texts in {
        1: (
            ("Ada", "Which knot holds best when the rope is wet and stiff from the salt of the sea?"),
            ("Bo", "The bowline of course since it does not slip and is untied with cold hands."),
            ("Cleo", "Well said!"),
        ),
        2: (
            ("Dora", "My anchor came up with a coral in its flukes and I feel rather bad about that."),
            ("Emil", "Anchor on sand then, the chart says where it is and your lead line says so too."),
        ),
        3: (
            ("Fay", "How long does varnish on a mast last when the boat stays out during the winter?"),
            ("Gus", "One winter if you are lucky, so sand it lightly and give it two coats in spring."),
        ),
        4: (
            ("Hal", "Is a wooden tiller worth the trouble now that everybody steers with a wheel?"),
            ("Ida", "A tiller tells your hand what the water does, and no wheel ever told me that."),
        ),
    }.items()
}

HEAD = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="generator" content="TinyForum 1"><title>{title}</title>
<script>var words = "no text at all";</script></head><body>
"""
FOOT = """<p class="tf-credit">Runs on <a href="https://tinyforum.example/">TinyForum</a></p></body></html>
"""
POST = """<div class="entry" id="entry-{number}"><div class="head"><span class="writer">{author}</span>
<time datetime="{date}">{day}</time></div><div class="text"><p>{text}</p><p class="advert">Buy rope</p></div></div>
"""


def topic(number: int) -> str:
    """Return the page of a topic."""
    posts = "".join(
        POST.format(number=identity, author=author, date=date, day=date[:10], text=text)
        for identity, author, date, text in POSTS[number]
    )
    path = '<div class="path"><a class="up" href="/">All topics</a> <a href="#entry-10">First</a></div>'
    return (
        HEAD.format(title=f"Topic {number}") + path + f'<div class="list"><div class="posts">{posts}</div></div>' + FOOT
    )


def board() -> str:
    """Return the front page."""
    links = "".join(f'<li><a href="/topic/{number}">Topic {number}</a></li>' for number in POSTS)
    people = '<a class="person" href="/person/1">Ada</a>'
    return HEAD.format(title="All topics") + f'<ul class="topics">{links}</ul>{people}' + FOOT


def knowledge_base(folder: Path) -> Path:
    """Write the files of the application and of another one; kinds are those that ship."""
    (folder / "applications").mkdir(parents=True)
    (folder / "applications" / "tinyforum.xml").write_text(APPLICATION, "utf-8")
    (folder / "applications" / "elsewhere.xml").write_text(OTHER, "utf-8")
    return folder


def record(folder: Path) -> RecordedSite:
    """Write the site as if it had been recorded."""
    site = RecordedSite("tinyforum", "plain", folder / "tinyforum" / "plain")
    (site.folder / "pages").mkdir(parents=True)
    pages = {"/": board(), **{f"/topic/{number}": topic(number) for number in POSTS}}
    index, kinds, truth = [], [], []
    for place, (path, text) in enumerate(pages.items()):
        url, file = f"http://tiny.test{path}", f"pages/{place:05}.html"
        (site.folder / file).write_text(text, "utf-8")
        header = ["Content-Type", "text/html; charset=utf-8"]
        index.append({"url": url, "file": file, "status": 200, "content_type": header[1], "headers": [header]})
        posts = POSTS.get(place, ())
        kinds.append({"url": url, "level": "terminal" if posts else "intermediate", "kind": "", "objects": len(posts)})
        truth += [
            {"id": f"p{identity}", "url": url, "title": None, "author": author, "date": date, "body": body}
            for identity, author, date, body in posts
        ]
    for name, rows in (("index", index), ("pages", kinds), ("truth", truth)):
        (site.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (site.folder / "site.json").write_text("{}", "utf-8")
    return site
