# ruff: noqa: E501 - markup is as wide as it is written
"""Tickets of a few words that nobody commented on, in made-up pages of several kinds of trackers."""

from collections.abc import Mapping
from dataclasses import dataclass

TITLE, AUTHOR, DAY = "Winch on the slip does not hold", "Carla Dunn", "2021-03-02"
TEXTS = (
    "The brake of the winch slips as soon as the barge is half out of the water. We had to block the wheel with a beam.",
    "It slips.",
)


@dataclass(frozen=True)
class Template:
    """The page of a ticket: its markup, in which ``{text}`` stands for what was reported, and the path of its URL."""

    markup: str
    path: str


ROWS = """<title>#17 ({title}) – Works</title><body><div id=banner><div id=header><a id=logo href="/">Works</a></div></div><div id=mainnav class=nav><ul><li><a href="/wiki">Wiki</a></li><li><a href="/report">View Tickets</a></li></ul></div>
<div id=main><div id=content class=ticket><div class=trac-content><div id=ticket class="trac-content "><div class=date><p>Opened <a class=timeline href="/timeline?from=2021-03-02T08%3A15%3A00Z" title="See timeline at 03/02/21 08:15:00">5 years ago</a></p></div>
<h1 id=trac-ticket-title class=searchable><a href="/ticket/17" class=trac-id>#17</a> <span class=trac-status><a href="/query?status=new">new</a></span> <span class=trac-type><a href="/query?type=defect">defect</a></span></h1><h1 class=searchable><span class=summary>{title}</span></h1>
<table class=properties><tr><th id=h_reporter>Reported by:</th><td headers=h_reporter><a class=trac-author href="/query?reporter=carla">{author}</a></td><th id=h_owner>Owned by:</th><td headers=h_owner>somebody</td></tr><tr><th>Priority:</th><td>major</td><th>Milestone:</th><td></td></tr></table>
<div class=description><h2>Description</h2><div class=searchable><p>{text}</p></div></div></div></div>
<div class=works-help><strong>Note:</strong> See <a href="/wiki/Tickets">Tickets</a> for help on using tickets.</div></div></div><div id=footer>Powered by some software</div>"""

DETAILS = """<title>[BOAT-17] {title} - Works Tracker</title><body><header id=header role=banner><nav><ul><li><a href="/secure/Dashboard">Dashboards</a></li><li><a href="/projects">Projects</a></li></ul></nav></header>
<div id=page><section id=content role=main><div id=issue-content class=issue-view><header id=stalker class=issue-header><div class=aui-page-header-main><ol class="aui-nav aui-nav-breadcrumbs"><li><a href="/browse/BOAT">Boats</a></li><li><a class=issue-link href="/browse/BOAT-17">BOAT-17</a></li></ol><h1 id=summary-val>{title}</h1></div></header>
<div class=issue-body-content><div id=details-module class="module toggle-wrap"><h4 class=toggle-title>Details</h4><div class=mod-content><ul id=issuedetails class="property-list two-cols"><li class=item><strong class=name>Type:</strong><span class=value>Bug</span></li><li class=item><strong class=name>Status:</strong><span class=value>Open</span></li><li class=item><strong class=name>Priority:</strong><span class=value>Minor</span></li></ul></div></div>
<div id=descriptionmodule class="module toggle-wrap"><h4 class=toggle-title>Description</h4><div class=mod-content><div id=description-val class="field-ignore-highlight"><div class=user-content-block><p>{text}</p></div></div></div></div>
<div id=peoplemodule class="module toggle-wrap"><h4 class=toggle-title>People</h4><div class=mod-content><ul class=item-details><li><dl><dt>Assignee:</dt><dd>Unassigned</dd></dl><dl><dt>Reporter:</dt><dd><a class=user-hover href="/ViewProfile?name=carla">{author}</a></dd></dl></li></ul></div></div>
<div id=datesmodule class="module toggle-wrap"><h4 class=toggle-title>Dates</h4><div class=mod-content><ul class=item-details><li><dl class=dates><dt>Created:</dt><dd class=date><time datetime="2021-03-02T08:15:00+0000">02/Mar/21 8:15 AM</time></dd></dl><dl class=dates><dt>Updated:</dt><dd class=date><time datetime="2021-03-02T08:15:00+0000">02/Mar/21 8:15 AM</time></dd></dl></li></ul></div></div></div></div></section></div><footer id=footer><p>Tracker software</p></footer>"""

TASK = """<title>FS#17 : {title}</title><body><h1 id=title><a href="/">Works</a></h1><ul id=menu-list><li><a href="/index.php?do=myprofile">Login</a></li></ul><div id=content><div id=actionbar></div>
<div id=taskdetails><h2 class="summary severity2">FS#17 - {title}</h2><div id=fineprint>Attached to Project: <a href="/proj1">Boats</a><br>Opened by {author} - {day}</div>
<div id=taskfields><table><tr><th id=tasktype>Task Type</th><td headers=tasktype>Bug Report</td></tr><tr><th id=category>Category</th><td headers=category>Winch</td></tr><tr><th id=status>Status</th><td headers=status>Unconfirmed</td></tr><tr><th id=assignedto>Assigned To</th><td headers=assignedto>No-one</td></tr><tr><th id=severity>Severity</th><td headers=severity>Medium</td></tr></table></div>
<div id=taskdetailsfull><h3 class=taskdesc>Details</h3><div id=taskdetailstext><p>{text}</p></div></div><div id=taskinfo><b>This task depends upon</b></div></div>
<div id=comments class=tab><em>There are no comments here yet.</em></div></div><p id=footer>Tracker software</p>"""

TIMELINE = """<title>⚓ T17 {title}</title><body><div class=phabricator-main-menu><a class=phabricator-main-menu-brand href="/">Works</a></div><div class=phui-crumbs-view><a href="/maniphest/">Maniphest</a><span>T17</span></div>
<div class="phui-two-column-view"><div class="phui-two-column-header"><div class=phui-header-shell><h1 class=phui-header-view><span class=phui-header-header>{title}</span></h1><div class=phui-header-subheader><span class="phui-tag-view">Open, Normal</span><span>Public</span></div></div></div>
<div class="phui-two-column-content"><div class="phui-side-column"><ul><li><a href="/edit/17">Edit Task</a></li></ul></div><div class=phui-main-column><div class=phui-head-thing-view><span>Authored by <strong><a href="/p/carla/">{author}</a></strong> on <span title="{day} 08:15">Mar 2 2021, 8:15 AM</span>.</span></div>
<div class="phui-box"><div class=phui-header-shell><h2>Description</h2></div><div class=phabricator-remarkup><p>{text}</p></div></div>
<h2>Event Timeline</h2><div class=phui-timeline-view><div class=phui-timeline-event-view><a href="/p/carla/">{author}</a> created this task. <a href="#1">Mar 2 2021, 8:15 AM</a></div></div></div></div></div>"""

ISSUE = """<title>Bug #17: {title} - Boats - Works</title><body class="has-main-menu controller-issues action-show"><div id=wrapper><div id=top-menu><a href="/projects">Projects</a></div><div id=header><h1>Boats</h1><div id=main-menu><ul><li><a href="/projects/boats/issues">Issues</a></li></ul></div></div>
<div id=main><div id=content><h2 class=inline-block>Bug #17</h2><div class="issue tracker-1 status-1 details"><div class=subject><div><h3>{title}</h3></div></div><p class=author>Added by <a class="user active" href="/users/9">{author}</a> <a title="{day} 08:15" href="/projects/boats/activity?from={day}">over 5 years</a> ago.</p>
<div class=attributes><div class=splitcontent><div class="status attribute"><div class=label>Status:</div><div class=value>New</div></div><div class="priority attribute"><div class=label>Priority:</div><div class=value>Normal</div></div><div class="assigned-to attribute"><div class=label>Assignee:</div><div class=value>-</div></div></div></div><hr>
<div class=description><p><strong>Description</strong></p><div class=wiki><p>{text}</p></div></div></div></div></div><div id=footer>Powered by tracker software</div></div>"""

TEMPLATES: Mapping[str, Template] = {
    "rows of properties": Template(ROWS, "/ticket/17"),
    "details in modules": Template(DETAILS, "/browse/BOAT-17"),
    "a task with fields": Template(TASK, "/task/17"),
    "a timeline of events": Template(TIMELINE, "/T17"),
    "an issue with attributes": Template(ISSUE, "/issues/17"),
}
