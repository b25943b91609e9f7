"""A draft of TinyForum as a work begins with it, with doubts about its guesses."""

from aahcrawler.editor.drafting.annotated_xml import Alternative, Doubt
from aahcrawler.editor.text.edits import Remove, SetAttribute

ITEM = "level[thread]/extract[posts]/item[1]"
DATE = "level[thread]/extract[posts]/field[date]"
EXTRACT = "level[thread]/extract[posts]"
DRAFT = b"""<?xml version="1.0" encoding="UTF-8"?>
<application name="TinyForum" kind="web-forum" draft="yes">
  <about>A draft.</about>
  <detect>
    <!-- guess: the page says so -->
    <pattern strength="proof" generator="TinyForum" cite="templates/header.tpl"/>
    <pattern strength="strong" css="p.credit a[href*='tinyforum.example']" cite="templates/footer.tpl"/>
  </detect>

  <level name="forum" role="intermediate">
    <when css="ul.topics a.topic-link" cite="templates/board.tpl"/>
    <address path="**/board.php" parameters="id" optional="page"/>
    <navigate name="topics" to="thread">
      <select css="a.topic-link" cite="templates/board.tpl"/>
    </navigate>
  </level>

  <level name="thread" role="terminal">
    <when css="div.entry div.text" path="**/topic.php" cite="templates/topic.tpl"/>
    <address path="**/topic.php" parameters="id" optional="page"/>
    <paging parameter="page"/>
    <pages name="more-posts"/>
    <extract name="posts" type="reply" first-type="post" many="yes" always="yes">
      <item css="div.entry" cite="templates/topic.tpl"/>
      <identity trim="entry-" prefix="entry-"><select xpath="@id" cite="templates/topic.tpl"/></identity>
      <field name="title" page="yes" first-only="yes"><select css="h1.subject" cite="templates/topic.tpl"/></field>
      <field name="author" kind="person"><select css=".who a" cite="templates/topic.tpl"/></field>
      <!-- guess: a date stands there -->
      <field name="date" kind="datetime" order="dmy">
        <select css=".when" cite="templates/topic.tpl"/>
      </field>
      <field name="body"><select css=".text" cite="templates/topic.tpl"/></field>
    </extract>
  </level>
</application>
"""
DOUBTS = (
    Doubt(
        place=DATE,
        said="the date of a post is .when",
        doubt=0.8,
        alternatives=(
            Alternative(said="there is no date", edits=(Remove(place=DATE),)),
            Alternative(
                said="the month comes first", edits=(SetAttribute(place=DATE, attribute="order", value="mdy"),)
            ),
        ),
    ),
    Doubt(place="detect[1]/pattern[1]", said="TinyForum is in the page", doubt=0.1),
)
