"""Made-up pages after the documented templates of trackers, of forums in other programs, and of questions.

Each page tells a report, a question or the first post of a thread, and what others wrote below it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

TITLE = "Tide table shows the wrong harbour"


@dataclass(frozen=True)
class Note:
    """What somebody wrote: a number, a name, a day of January 2021 with a time, and the text."""

    number: int
    name: str
    date: str
    text: str

    @property
    def day(self) -> str:
        """The day alone."""
        return self.date[:10]


LONG = (
    (
        "The printed table for the northern pier lists the times of the southern one, by which two boats ran aground. "
        "Somebody swapped the columns when the new printer came, I think."
    ),
    (
        "I looked at the file and both columns are right there. It must be the stylesheet that puts them side by side, "
        "as the headings are in a different order from the rows below."
    ),
    (
        "Confirmed on the second printer too. We glued a note below the table until this is put right, and told the "
        "captain of the ferry to call us before he leaves."
    ),
    (
        "The order of the headings comes from a list in the settings. I changed it and printed one page for each pier, "
        "and now both of them agree with the almanac."
    ),
)
SHORT = (
    "The table of the northern pier is wrong.",
    "Which one?",
    "The one at the kiosk, I think.",
    "Fixed now, thanks!",
)
NAMES = ("hannah", "Olaf Brink", "teo", "hannah")
DATES = ("2021-01-04 09:12", "2021-01-04 17:40", "2021-01-06 08:05", "2021-01-09 21:33")


def notes(texts: Sequence[str]) -> tuple[Note, ...]:
    """Return the notes of a page with some texts."""
    given = zip(NAMES, DATES, texts, strict=False)
    return tuple(Note(41 + number, name, date, text) for number, (name, date, text) in enumerate(given))


def page(title: str, body: str) -> str:
    """Return a page with menus around a body."""
    menu = "".join(f"<a href='/{word}'>{word.title()}</a> " for word in ("projects", "search", "activity", "login"))
    return (
        f"<!doctype html><html lang=en><title>{title}</title><body><div id=header><a href='/'>Harbour works</a> "
        f"{menu}</div>"
        f"{body}<div id=footer><a href='/about'>About this installation</a></div></body></html>"
    )


def rows_of_values(given: Sequence[Note]) -> str:
    """Return a table of values in which the description is a row, and another table of notes."""
    first, *others = given
    below = "".join(
        f"<tr class=bugnote id=c{note.number}><td class=category><span><a "
        f"href='/user?id={note.number}'>{note.name}</a>"
        f"</span><br><span class=small>{note.date}</span><br><span class=small>developer</span><br>"
        f"<span><a href='#c{note.number}'>~00000{note.number}</a></span></td>"
        f"<td class=note>{note.text}</td></tr><tr class=spacer><td colspan=2></td></tr>"
        for note in others
    )
    return page(
        f"0000017: {TITLE} - Harbour works",
        "<div class=widget><h4>View Issue Details</h4><table class=details><thead>"
        "<tr><th>ID</th><th>Project</th><th>Category</th><th>View Status</th><th>Date Submitted</th><th>Last "
        "Update</th></tr>"
        f"</thead><tbody><tr><td>0000017</td><td>Tables</td><td>print</td><td>public</td><td>{first.date}</td>"
        "<td>2021-02-01 10:00</td></tr><tr class=spacer><td colspan=6></td></tr>"
        f"<tr><th>Reporter</th><td><a href='/user?id=3'>{first.name}</a></td><th>Assigned To</th><td>Olaf Brink</td>"
        "<td colspan=2></td></tr><tr><th>Priority</th><td>normal</td><th>Severity</th><td>minor</td>"
        "<th>Reproducibility</th><td>always</td></tr><tr><th>Status</th><td>resolved</td><th>Resolution</th>"
        "<td>fixed</td>"
        f"<td colspan=2></td></tr><tr><th>Summary</th><td colspan=5>0000017: {TITLE}</td></tr>"
        f"<tr><th>Description</th><td colspan=5>{first.text}</td></tr>"
        "<tr><th>Tags</th><td colspan=5>No tags attached.</td></tr></tbody></table></div>"
        f"<div class=widget><h4>Activities</h4><table class=notes>{below}</table></div>",
    )


def comments_in_pre(given: Sequence[Note]) -> str:
    """Return a form of values, then comments as preformatted text, of which the first is the description."""
    comments = "".join(
        f"<div id=c{n} class='bz_comment{' bz_first_comment' if n == 0 else ''}'><div class=bz_comment_head>"
        + ("<span class=bz_comment_number><a href='show?id=17#c0'>Description</a></span> " if n == 0 else "")
        + f"<span class=bz_comment_user><span class=vcard><span class=fn>{note.name}</span></span></span> "
        f"<span class=bz_comment_time>{note.date}:22 UTC</span> "
        + (f"<span class=bz_comment_number><a href='show?id=17#c{n}'>Comment {n}</a></span>" if n else "")
        + f"</div><pre class=bz_comment_text>{note.text}</pre></div>"
        for n, note in enumerate(given)
    )
    return page(
        f"17 – {TITLE}",
        f"<div id=titles><span>Bug 17 - {TITLE}</span></div><div id=content>"
        f"<div class=bz_short_desc><b>Bug 17</b> - <span id=short_desc>{TITLE}</span></div>"
        "<table class=edit_form><tr><td><table><tr><th>Status:</th><td>RESOLVED FIXED</td></tr><tr><th>Product:</th>"
        "<td>Tables</td></tr><tr><th>Component:</th><td>print</td></tr></table></td><td><table><tr><th>Reported:</th>"
        f"<td>{given[0].date} UTC by <span class=vcard>{given[0].name}</span></td></tr><tr><th>Modified:</th>"
        "<td>2021-02-01 10:00 UTC (<a href='/history?id=17'>History</a>)</td></tr></table></td></tr></table>"
        f"<div id=comments><table class=bz_comment_table><tr><td>{comments}</td></tr></table></div></div>",
    )


def journals(given: Sequence[Note]) -> str:
    """Return a description between values, then journals whose heading says that somebody updated."""
    first, *others = given
    below = "".join(
        f"<div id='change-{note.number}' class='journal has-notes'><div id='note-{n}'>"
        f"<h4><a href='/issues/17#note-{n}' class=journal-link>#{n}</a> Updated by "
        f"<a class='user active' href='/users/{n}'>{note.name}</a> <a title='{note.date}' "
        f"href='/activity?from={note.day}'>"
        "over 5 years</a> ago</h4><ul class=details><li><strong>Status</strong> changed from <i>New</i> to "
        "<i>Open</i></li>"
        f"</ul><div id='journal-{note.number}-notes' class=wiki><p>{note.text}</p></div></div></div>"
        for n, note in enumerate(others, 1)
    )
    attributes = "".join(
        f"<div class='{word} attribute'><div class=label>{word.title()}:</div><div class=value>{value}</div></div>"
        for word, value in (
            ("status", "New"),
            ("priority", "Normal"),
            ("assignee", "Olaf Brink"),
            ("category", "Print"),
        )
    )
    return page(
        f"Bug #17: {TITLE} - Harbour works",
        f"<div id=content><h2>Bug #17</h2><div class='issue tracker-1 details'><div class=subject><h3>{TITLE}"
        "</h3></div>"
        f"<p class=author>Added by <a class='user active' href='/users/3'>{first.name}</a> <a title='{first.date}' "
        f"href='/activity?from={first.day}'>over 5 years</a> ago. Updated <a title='2021-02-01 10:00' "
        "href='/activity'>"
        f"over 5 years</a> ago.</p><div class=attributes>{attributes}</div><hr><div class=description><p>"
        "<strong>Description"
        f"</strong></p><div class=wiki><p>{first.text}</p></div></div></div>"
        f"<div id=history><h3>History</h3>{below}</div></div>",
    )


def timeline(given: Sequence[Note]) -> str:
    """Return a time line in which comments stand between events, as on forges."""
    items = ""
    for n, note in enumerate(given):
        items += (
            f"<div class='timeline-item comment{' first' if n == 0 else ''}' id='issuecomment-{note.number}'>"
            f"<a class=timeline-avatar href='/{note.name.split()[0]}'><img src='/a/{n}.png' alt></a><div "
            "class='content'>"
            f"<div class='comment-header'><a class=author href='/{note.name.split()[0]}'>{note.name}</a> <span "
            "class=text-grey>"
            f"commented <a href='#issuecomment-{note.number}'><relative-time "
            f"datetime='{note.date.replace(' ', 'T')}:00Z'>"
            f"{note.day}</relative-time></a></span></div><div class='comment-body'><div class='render-content "
            "markup'>"
            f"<p>{note.text}</p></div></div></div></div>"
        )
        if n == 1:
            items += (
                "<div class='timeline-item event' id='event-7'><span class=badge></span><a class=author "
                "href='/teo'>teo</a> "
                "<span>added the <a href='/labels/3'>print</a> label <relative-time datetime='2021-01-05T10:00:00Z'>"
                "2021-01-05</relative-time></span></div>"
            )
    return page(
        f"{TITLE} · Issue #17 · Harbour works",
        f"<div class=issue-title><h1>{TITLE} <span class=index>#17</span></h1><div>Open</div> <span>"
        f"<a href='/hannah'>hannah</a> opened this issue <relative-time datetime='2021-01-04T09:12:00Z'>2021-01-04"
        f"</relative-time> · {len(given) - 1} comments</span></div><div class='ui timeline'>{items}</div>"
        "<div class=sidebar><h3>Labels</h3><p>None yet</p><h3>Assignees</h3><p>Nobody</p><h3>Participants</h3></div>",
    )


def nested_forum(given: Sequence[Note]) -> str:
    """Return posts below one another in boxes, each headed by one line with its number, its author and its date."""
    posts, closing = "", ""
    for n, note in enumerate(given, 1):
        reply = f" in reply to <a href='/forumpost/{n * 17:08x}ab'>{n - 1}</a>" if n > 1 else ""
        posts += (
            f"<div id='forum{n * 31:08x}cd' class='forumTime' style='margin-left:{n}em'><h3 "
            f"class=forumPostHdr>({n}) By "
            f"<a href='/timeline?u={note.name.split()[0]}'>{note.name}</a> on {note.date}:11{reply} "
            f"<a href='/forumpost/{n * 31:08x}cd'>[link]</a> <a href='/forumpost/{n * 31:08x}cd?raw'>[source]</a>"
            "</h3>"
            f"<div class='forumPostBody'><div class=markdown><p>{note.text}</p></div></div>"
        )
        closing += "</div>"
    return page(
        f"Harbour works: Forum: {TITLE}",
        "<div class=header><div class=title><h1>Harbour works</h1>Forum Post</div></div><div class=content>"
        f"<h2>{TITLE}</h2>"
        f"<div class=forum>{posts}{closing}</div></div>",
    )


def ticket_with_remarks(given: Sequence[Note]) -> str:
    """Return a ticket of rows with labels, and the remarks on it in cells below one another."""
    below = "".join(
        f"<tr><td class='tktDspLabel'><span>User Comments:</span></td></tr><tr><td colspan=5 class=tktDspValue>"
        f"<i>{note.name} added on {note.date}:00:</i><br>{note.text}</td></tr>"
        if n == 0
        else f"<tr><td colspan=5 class=tktDspValue><i>{note.name} added on {note.date}:00:</i><br>{note.text}</td></tr>"
        for n, note in enumerate(given)
    )
    return page(
        "Harbour works: View Ticket",
        "<div class=header><h1>Harbour works</h1>View Ticket</div><div class=content><table class=tktDsp>"
        "<tr><td class=tktDspLabel>Ticket Hash:</td><td class=tktDspValue>8bb5c1a2d0c7</td></tr>"
        f"<tr><td class=tktDspLabel>Title:</td><td class=tktDspValue>{TITLE}</td></tr>"
        "<tr><td class=tktDspLabel>Status:</td><td class=tktDspValue>Open</td><td class=tktDspLabel>Type:</td>"
        "<td class=tktDspValue>Code_Defect</td></tr><tr><td class=tktDspLabel>Last Modified:</td>"
        f"<td class=tktDspValue>2021-02-01 10:00:00</td></tr>{below}</table></div>",
    )


def question(given: Sequence[Note]) -> str:
    """Return a question in a frame of its own, and its answers."""
    first, *others = given

    def frame(note: Note, kind: str, verb: str) -> str:
        return (
            f"<div id='{kind}-{note.number}' class='{kind}'><div class=votes><span>3</span> votes</div>"
            f"<div class='{kind}cell'><div class='prose'><p>{note.text}</p></div><div class=user-info><div "
            "class=action>"
            f"{verb} <span title='{note.date}:00Z' class=relativetime>Jan {int(note.day[-2:])}, 2021 at "
            f"{note.date[11:]}</span></div><div class=details><a href='/users/{note.number}/x'>{note.name}</a> "
            "<span class=reputation>1,201</span></div></div></div></div>"
        )

    below = "".join(frame(note, "answer", "answered") for note in others)
    return page(
        f"{TITLE} - Harbour questions",
        f"<div id=content><div id=question-header><h1><a href='/questions/17'>{TITLE}</a></h1></div>"
        f"<div class=inner>{frame(first, 'question', 'asked')}<div id=answers><div><h2>{len(others)} Answers</h2>"
        "</div>"
        f"{below}</div></div><div id=sidebar><h4>Related</h4><a href='/questions/8'>Where is the pier?</a></div>"
        "</div>",
    )


def discussion(given: Sequence[Note]) -> str:
    """Return a ticket in a wide frame with a discussion of other frames below it, and values in boxes."""
    first, *others = given
    below = "".join(
        f"<li><div id='{note.number:04x}' class=discussion-post><div class=display_post><div class=grid-4><p "
        "class=gravatar>"
        f"<a href='/u/{n}/'><img src='/g/{n}' alt></a></p><p><a href='/u/{n}/'>{note.name}</a> - <small title="
        f"'{note.date}:00'>{note.day}</small></p></div><div class=grid-14><div class='display_post'><div "
        "class=markdown_content>"
        f"<p>{note.text}</p></div></div></div></div></div></li>"
        for n, note in enumerate(others)
    )
    return page(
        f"Harbour works / Tickets / #17 {TITLE}",
        f"<div id=page-body><h2 class='dark title'>#17 {TITLE}</h2><div id=ticket_content><div class=editbox><div "
        "class=view_holder>"
        "<div class='grid-5'><label class=simple>Milestone:</label> 1.0</div><div class='grid-5'><label "
        "class=simple>Status:"
        "</label> open</div><div class='grid-5'><label class=simple>Owner:</label> nobody</div><div class='grid-5'>"
        "<label class=simple>Labels:</label> None</div><div class='grid-5'><label class=simple>Updated:</label> "
        f"<span title='2021-02-01'>2021-02-01</span></div><div class='grid-5'><label class=simple>Created:</label> "
        f"<span title='{first.date}:00'>{first.day}</span></div><div class='grid-5'><label class=simple>Creator:"
        "</label> "
        f"<a href='/u/h/'>{first.name}</a></div><div class='grid-5'><label class=simple>Private:</label> No</div>"
        "</div></div>"
        f"<div class='grid-18'><div class=markdown_content><p>{first.text}</p></div></div></div>"
        f"<h2>Discussion</h2><ul id=comment>{below}</ul></div>",
    )


def topic_for_crawlers(given: Sequence[Note]) -> str:
    """Return a topic as scripts' forums show it to crawlers: all posts alike, with microdata left out."""
    posts = "".join(
        f"<div id='post_{n}' class='topic-body crawler-post'><div class=crawler-post-meta><span class=creator>"
        f"<a rel=nofollow href='/u/{note.name.split()[0]}'><span>{note.name}</span></a></span> <span "
        "class=crawler-post-infos>"
        f"<time datetime='{note.date.replace(' ', 'T')}:00Z' class=post-time>January {int(note.day[-2:])}, 2021, "
        "9:12am</time> "
        f"<span>{n}</span></span></div><div class=post><p>{note.text}</p></div><div class=interaction><span>2 "
        "Likes</span></div></div>"
        for n, note in enumerate(given, 1)
    )
    return page(
        f"{TITLE} - Harbour talk",
        f"<div id=main-outlet><div id=topic-title><h1><a href='/t/tide-table/17'>{TITLE}</a></h1></div>{posts}"
        "<div id=related-topics><h3>Related topics</h3><table><tr><td><a href='/t/x/3'>Where is the pier</a>"
        "</td><td>4</td>"
        "<td>March 2020</td></tr><tr><td><a href='/t/y/4'>Ferry times</a></td><td>1</td><td>May 2019</td></tr>"
        "</table></div></div>",
    )


def bug_with_activity(given: Sequence[Note]) -> str:
    """Return a report in a frame of its own, comments in boards with numbers, and a column of changes beside them."""
    first, *others = given
    below = "".join(
        f"<div class='boardComment' id='c{n}'><div class=boardCommentDetails><table><tr><td><a "
        f"href='/~{note.name.split()[0]}' "
        f"class='sprite person'>{note.name}</a> <span class=registered>wrote</span> <time title='{note.date}:09 UTC' "
        f"datetime='{note.date.replace(' ', 'T')}:09+00:00'>on {note.day}</time></td><td class=bug-comment-index>"
        "<a href="
        f"'/bugs/17/comments/{n}'>#{n}</a></td></tr></table></div><div class='boardCommentBody'><div "
        "class=comment-text>"
        f"<p>{note.text}</p></div></div></div>"
        for n, note in enumerate(others, 1)
    )
    return page(
        f"Bug #17 “{TITLE}” : Bugs : Harbour works",
        f"<div class=main><div class=top><h1 id=edit-title>{TITLE}</h1><div class=registering>Bug #17 reported by "
        f"<a href='/~hannah' class='sprite person'>{first.name}</a> <time title='{first.date}:00 UTC' "
        f"datetime='{first.date.replace(' ', 'T')}:00+00:00'>on {first.day}</time></div></div>"
        "<table id=affected class=listing><thead><tr><th>Affects</th><th>Status</th><th>Importance</th>"
        "<th>Assigned to</th></tr>"
        "</thead><tbody><tr><td><a href='/tables'>tables</a></td><td>Confirmed</td><td>Low</td><td>Unassigned"
        "</td></tr></tbody>"
        f"</table><div class=report><h3>Bug Description</h3><div class=yui3-editable_text-text><p>{first.text}"
        "</p></div></div>"
        f"{below}</div>",
    )


def lines_of_values(given: Sequence[Note]) -> str:
    """Return a ticket whose values are a list of terms, with a box for its text and one for each answer."""
    first, *others = given
    below = "".join(
        f"<div class=comment id=comment{note.number}><em><a class=commentlink "
        f"href='#comment{note.number}'>Comment by "
        f"<a href='/user/{n}'>{note.name}</a> - {note.date}</a></em><div class=commenttext><p>{note.text}</p>"
        "</div></div>"
        for n, note in enumerate(others)
    )
    return page(
        f"FS#17 : {TITLE}",
        f"<div id=taskdetails><h2>FS#17 - {TITLE}</h2><div id=fineprint>Attached to Project: <a href='/p1'>Tables"
        "</a><br>"
        f"Opened by <a href='/user/9'>{first.name}</a> - {first.date}<br>Last edited by <a href='/user/2'>Olaf "
        "Brink</a> - "
        "2021-02-01 10:00</div><table id=taskfields><tr><th>Task Type</th><td>Bug Report</td></tr><tr>"
        "<th>Category</th>"
        "<td>print</td></tr><tr><th>Status</th><td>Closed</td></tr><tr><th>Severity</th><td>Low</td></tr></table>"
        f"<div id=taskdetailsfull><h3>Details</h3><p>{first.text}</p></div></div><div id=comments "
        f"class=tab>{below}</div>",
    )


def activities(given: Sequence[Note]) -> str:
    """Return an issue with a description among sections of values, and comments as activities."""
    first, *others = given
    below = "".join(
        f"<div id='comment-{note.number}' class='issue-data-block activity-comment twixi-block'><div class='verbose'>"
        f"<div class=action-head><div class=action-details><a class='user-hover user-avatar' rel='{note.name}' "
        "href='/secure/"
        f"ViewProfile?name={n}'>{note.name}</a> added a comment - <a href='/browse/TAB-17?focusedId={note.number}'>"
        f"<span class='date user-tz' title='{note.date}'><time class=livestamp "
        f"datetime='{note.date.replace(' ', 'T')}:00+0000'>"
        f"{note.date}</time></span></a></div></div><div class='action-body flooded'><p>{note.text}</p></div>"
        "</div></div>"
        for n, note in enumerate(others)
    )
    return page(
        f"[TAB-17] {TITLE} - Harbour works",
        f"<header><h1 id=summary-val>{TITLE}</h1></header><div class=issue-body-content><div class=main-column>"
        "<div id=details-module><h4>Details</h4><ul id=issuedetails><li><strong class=name>Type:</strong> "
        "<span>Bug</span></li>"
        "<li><strong class=name>Status:</strong> <span>Resolved</span></li><li><strong class=name>Priority:"
        "</strong> <span>"
        "Minor</span></li><li><strong class=name>Resolution:</strong> <span>Fixed</span></li></ul></div>"
        f"<div id=descriptionmodule><h4>Description</h4><div class=user-content-block><p>{first.text}</p></div></div>"
        f"<div id=activitymodule><h4>Activity</h4><div id=issue_actions_container>{below}</div></div></div>"
        "<div class=side-column><div id=peoplemodule><h4>People</h4><ul><li><dl><dt>Assignee:</dt><dd>Olaf Brink"
        "</dd></dl>"
        f"<dl><dt>Reporter:</dt><dd><span class=user-hover>{first.name}</span></dd></dl></li></ul></div><div "
        "id=datesmodule>"
        "<h4>Dates</h4><ul><li><dl><dt>Created:</dt><dd><time "
        f"datetime='{first.date.replace(' ', 'T')}:00+0000'>{first.date}"
        "</time></dd></dl><dl><dt>Updated:</dt><dd><time datetime='2021-02-01T10:00:00+0000'>2021-02-01 10:00"
        "</time></dd></dl>"
        "</li></ul></div></div></div>",
    )


PAGES: dict[str, Callable[[Sequence[Note]], str]] = {
    each.__name__: each
    for each in (
        rows_of_values,
        comments_in_pre,
        journals,
        timeline,
        nested_forum,
        ticket_with_remarks,
        question,
        discussion,
        topic_for_crawlers,
        bug_with_activity,
        lines_of_values,
        activities,
    )
}
