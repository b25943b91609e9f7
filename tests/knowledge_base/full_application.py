"""A file that uses everything the format has, and ways to load such texts."""

from pathlib import Path

from knowledge_base.loader import FOLDER, load_files
from knowledge_base.model import KnowledgeBase

KINDS = sorted((FOLDER / "kinds").glob("*.xml"))

FULL = """<?xml version="1.0"?>
<application name="Full" kind="wiki" whole-host="yes">
  <detect>
    <pattern host="www.Wiki.Example" strength="proof"/>
    <pattern path="**/index.php" query="wiki/*" literal="index.php" strength="hint"/>
  </detect>
  <needs-browser css="#app" parameters="view=app"/>
  <canonical><drop parameter="from" value="#"/></canonical>
  <avoid><url reason="edit" path="**/index.php" query="edit/*"/></avoid>
  <ignore css="a.unwritten"/>
  <listings when-none="more">
    <listing name="pages" kind="sitemap" address="map-{page}.xml" from="0" step="50" order="oldest-first"/>
    <listing name="index" kind="page" address="/list"/>
  </listings>
  <behaviour name="more of it" level="list talk" allows="POST" cite="list.js">
    <never>log out</never>
    <click css="a.more" most="3" pause="0.5"><words language="en">load more; show more</words></click>
    <scroll/>
  </behaviour>
  <level name="list" role="intermediate" start="yes">
    <when path="**/list-#.php"/>
    <address path="**/index.php" query="list/#-*" optional="page"/>
    <paging parameter="page"/>
    <navigate name="more" to="talk">
      <select css="a.talk"/>
      <request address="/api.php?list=all&amp;from={next}&amp;search={word}">
        <when css="#app"/>
        <value name="next" parameter="from" text="0" add="20"/>
        <value name="word" icd="keywords" each="yes"/>
      </request>
      <form css="form.search"><value name="q[]" icd="entities" each="yes"/></form>
    </navigate>
    <pages name="pages"/>
  </level>
  <level name="talk" role="terminal">
    <when css="#talk"/>
    <extract name="comments" type="comment" many="yes">
      <item css="#talk"/>
      <instead type="page" css=".archive"/>
      <run><block css="p"/><block css="dl"/><signature css="a.user"/><stop css="h2"/></run>
      <identity fields="author date"/>
      <parent trim="c"><select xpath="@id"/></parent>
      <field name="author" kind="person"><select css="a.user"/></field>
      <field name="date" kind="datetime" order="dmy"><select css=".date"/></field>
      <field name="body" join="yes" markup="yes"><select css="*"/><without css=".no"/></field>
      <field name="title" first-only="yes" declared="headline name"/>
    </extract>
    <navigate name="lists" to="list" when-none="others"><select css="a.list" documented="yes"/></navigate>
    <navigate name="others" to="talk"><select css="a.other"/></navigate>
    <variant name="second">
      <when css=".second"/>
      <extract name="comments">
        <item css="#second"/>
        <field name="date" kind="datetime"><select css=".when"/></field>
        <field name="tags" many="yes"><select css=".tag"/></field>
      </extract>
      <navigate name="lists"><select css="nav a"/></navigate>
      <navigate name="feeds" to="list"><request address="?feed=1"/></navigate>
      <use level="list" action="pages"/>
    </variant>
  </level>
</application>
"""


def line_of(text: str, part: str) -> int:
    """Return the line on which a part of a text stands first."""
    return text[: text.index(part)].count("\n") + 1


def load_texts(folder: Path, *texts: str) -> KnowledgeBase:
    """Load texts as files of applications, beside the kinds that ship."""
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"app{number}.xml")
        files[-1].write_text(text, encoding="utf-8")
    return load_files(KINDS, files)
