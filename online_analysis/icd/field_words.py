"""The fields of an ICD in plain words: a label and one sentence each, for forms and YAML editors.

docs/icd.md explains each in full. A field within a list, or under names chosen by the author, has the path without
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Words:
    """The label of a field, and one sentence about it."""

    label: str
    help: str


EVENT_KINDS: Final = (
    ("Event", "Type", "Duration", "Lead time", "Cool-down time"),
    ("Olympic games", "recurring", "2 weeks", "weeks", "days"),
    ("Federal election", "recurring", "1 day", "months", "weeks"),
    ("Fukushima accident", "non-recurring", "1 week", "-", "months"),
    ("Snowden leaks", "non-recurring", "1 day", "-", "years"),
)
"""Examples of kinds of events (Gossen et al. 2020, table 1), for choosing ``lead`` and ``cool_down``."""


def _words(lines: str) -> Mapping[str, Words]:
    rows = (line.split(" | ") for line in lines.strip().splitlines())
    return {path: Words(label, sentence) for path, label, sentence in rows}


SECTION_WORDS: Final = _words("""
crawl | The crawl | What the crawl is called, and who answers for it.
metadata | Description | What the archive is described by for people, in the terms of Dublin Core.
seeds | Seeds | The pages that the crawl begins with.
topic | Subject | What the crawl is about; pages that speak of it come first.
event | Time | The span of time that the crawl is about; leave it empty if dates do not matter.
scope | Scope | Which pages may be fetched at all.
sources | Sources of links | Where links are taken from beside the links on pages.
captures | Captures | Where captures of pages come from: the live web, or archives.
browser | Browser | Which pages are looked at in a browser, because scripts make their content.
scoring | Scoring | How pages and links are rated, and what comes first.
traps | Traps | When a part of a site counts as endless and is left.
limits | Limits | When the crawl ends; 0 is no limit.
politeness | Politeness | How gently sites are asked.
network | Network | How sites are reached.
archive | Archive | Where the archive is kept and copied to.
""")
"""The groups of fields, in the order of a form."""

FIELD_WORDS: Final = _words("""
id | Short name | Names the crawl and its folder: letters, digits, hyphens, underscores and dots.
title | Title | What the crawl is called in reports, and what sites are told.
operator | Institution | The institution that crawls, as sites and the archive are told.
contact | Contact | An e-mail address or web page by which webmasters reach you; sites are told it.
metadata | Description | What the archive is described by for people.
metadata.description | Description | What the archive holds, in some sentences.
metadata.creator | Creators | Who made the collection, one a line.
metadata.publisher | Publishers | Who makes it available, one a line.
metadata.rights | Rights | What may be done with it, one statement a line.
metadata.language | Languages of the archive | Codes such as de, nds or pt-BR, one a line; nothing is left out for them.
metadata.subject | Subjects | What the archive is about for a catalogue, one a line.
metadata.coverage | Coverage | Places and times that it covers, one a line.
output | Folder | The folder that the crawl is kept in, relative to where the command runs.
seeds | Seeds | The web addresses to begin with, one a line.
topic | Subject | What the crawl is about.
topic.keywords | Keywords | Words and phrases for what the crawl is about, one a line.
topic.entities | Names | Names of people, places and organisations, one a line.
topic.documents | Texts about the subject | Web addresses, or files beside the definition, one a line.
topic.posts | File of social postings | A file beside the definition whose links are seeds, too.
topic.reference_crawl | Refine the subject after | After so many pages the crawl adds words it has learned; 0: never.
event | Time | The span of time that the crawl is about.
event.start | From | The first day that the crawl is about.
event.end | To | The last day that the crawl is about.
event.lead | Talked about before | How long before its start it is talked about; pages that old count half.
event.cool_down | Talked about after | How long after its end it is talked about; pages that late count half.
event.grace | Grace | How long after its end nothing counts less than half, since archives take their time.
scope | Scope | Which pages may be fetched.
scope.sites | Sites | Whether the crawl stays on the sites of its seeds or goes wherever the subject leads.
scope.allow | Only addresses like | URL patterns, one a line; where there are some, only pages that match are fetched.
scope.deny | No addresses like | URL patterns of what is never fetched, one a line.
scope.languages | Languages | Codes of two letters, one a line; links of pages in other languages are not followed.
scope.depth | Most links from a seed | How many links a page may be away from a seed; 0 is the seeds alone.
scope.canonical | One address a page | How the spellings of one page's address become one.
scope.canonical.sessions | Session ids in addresses | Whether ids of sessions are left out of addresses.
scope.canonical.drop | Parameters to leave out | Names of parameters that mean nothing, one a line; * is any text.
scope.canonical.sort | Sort parameters | Whether the order of an address's parameters means nothing.
scope.canonical.index | Index files | Names of files that mean their folder, such as index.html, one a line.
scope.canonical.lower_case | Hosts without capitals | Hosts whose paths mean the same in small letters, one a line.
scope.canonical.www | Hosts with or without www. | Whether www. is dropped or added, by host.
scope.rules | Rules | Conditions joined by and, or, not, all of which must be met.
scope.rules.name | Name | What a rule is called in counts of what it refused.
scope.rules.refuse | Refuse | What the rule refuses, pages and what they show.
scope.rules.require | Require | What the rule requires of pages.
condition.all | All of | All of these conditions hold.
condition.any | Any of | One of these conditions holds.
condition.not | Not | This condition does not hold.
condition.url | Address | A URL pattern matches the address.
condition.site | Site | The address is on that host or below it; seeds stands for the sites of all seeds.
condition.language | Language | The page that leads there is in that language.
condition.type | Kind of file | The media type is that one, such as application/pdf or video/*.
condition.depth | Links from a seed | How many links away from a seed, such as: at most 3.
condition.off_site | Links off the sites | How many links in a row led off the seeds' sites, such as: at most 2.
condition.path | Way from a seed | A pattern matches all hops from a seed.
condition.via | Linking page | A URL pattern matches the address of the page that leads there.
sources | Sources of links | Where links are taken from.
sources.sitemaps | Sitemaps | Whether the lists of pages that sites offer to search engines are read.
sources.feeds | Feeds | Whether entries of RSS and Atom feeds are followed.
sources.listings | Listings | Whether known software is asked for lists of all that it holds, once links run out.
sources.documents | Documents | Whether PDF, DOCX, ODT, EPUB and RDF files are read.
sources.sparql | SPARQL endpoints | Queries whose results are had page by page, and whose resources are links.
sources.sparql.endpoint | Endpoint | The URL that answers queries.
sources.sparql.query | Query | A SELECT or CONSTRUCT query with ORDER BY and without LIMIT; without one, all statements.
sources.sparql.rows | Rows of a page | How many rows are asked for at a time.
sources.sparql.pages | Pages | How many pages of so many rows are asked for at most.
sources.linked_data | Linked data | Whether servers and pages are asked for the data behind pages, as RDF.
sources.forms | Forms | Whether harmless forms of known software are sent.
captures | Captures | Where captures of pages come from.
captures.sources | Sources | Where a page is taken from, the first of these that has it.
captures.sources.name | Name | What reports call the source.
captures.sources.live | Live web | The page is fetched from its site.
captures.sources.archive | Archives here | Folders of crawls, WARC, ARC or WACZ files, or indexes of these.
captures.sources.cdx | CDX server | A server that lists the captures of a page.
captures.sources.cdx.server | Address | The web address that lists captures.
captures.sources.cdx.replay | Replay | The web address that a time and the address of a page are appended to.
captures.sources.cdx.files | Files | The web address that the names of WARC files are appended to.
captures.sources.memento | Memento | An archive, or an aggregator of archives, that answers by the Memento protocol.
captures.sources.memento.timegate | TimeGate | The web address that finds the capture nearest to a date.
captures.sources.memento.timemap | TimeMap | The web address that lists all captures of a page.
captures.snapshot | Version of a page | Which capture is taken where an archive has several of a page.
captures.nearest_to | Nearest to | The date that the capture is to be nearest to.
browser | Browser | Which pages are looked at in a browser.
browser.use | Use a browser | Whether pages are looked at in a browser once they are fetched.
browser.pages | Always for addresses like | URL patterns of pages that a browser always looks at, one a line.
browser.never | Never for addresses like | URL patterns of pages that no browser looks at, one a line.
browser.page_time | Time for a page | How long a browser may look at one page.
browser.at_once | Pages at once | How many pages a worker looks at in a browser at the same time.
browser.under_login | Send under a login | Whether a page may send anything where the crawl has logged in.
browser.screenshots | Pictures of pages | Whether a picture of each page in the browser is kept.
scoring | Scoring | How pages and links are rated.
scoring.weights | Weights | How much each analyser counts; 0 turns one off.
scoring.update | A page found again | How another score changes that of a page that waits already.
scoring.batch | Pages scored together | After how many pages their links are scored together.
scoring.balance | Pages of a site in a row | How many pages are taken from one site before the next one's turn.
scoring.relevant | Relevant from | The score, from 0 to 1, from which a page counts as relevant.
scoring.follow | Follow links from | The score, from 0 to 1, below which links of a page are not followed.
scoring.relevance | Collection about an event | How subject and time together make the score of a page.
scoring.relevance.combination | Subject and time | How the nearness to the subject and to the time are combined.
scoring.relevance.alpha | Weight of the subject | How much of a sum is the subject; the rest is the time.
scoring.relevance.dates | Date of a page | In which order the date of a page is looked for.
scoring.relevance.discussed | Dates it speaks of | Whether the dates that a text speaks of come before its own date.
scoring.relevance.bigrams | Pairs of words | A file beside the definition of pairs that were counted in an archive.
scoring.spam_hosts | Hosts to leave out | Hosts from which nothing is fetched, one a line.
scoring.url_patterns | Scores of addresses | The score, from 0 to 1, of links that match a URL pattern.
scoring.entity_model | Model for names | An installed spaCy model that finds names; it costs much time.
scoring.explore | Explore | The share of fetches, up to 0.5, that try links of which little is known.
scoring.seed | Seed of chance | Equal numbers make equal random choices.
scoring.post_to | Post links to | Another crawler's web service that good links are sent to.
scoring.post_to.url | Web service | The web address of another crawler's service that links are sent to.
scoring.post_to.crawl | Its crawl | The name of the crawl there.
scoring.post_to.at_least | From this score | Links with a lower score are not sent.
traps | Traps | When a part of a site counts as endless.
traps.pages | Pages alike | How many pages with addresses that are alike are fetched in any case; 0 is no bound.
traps.repeats | Repetitions | How often a part of a path may repeat itself in a row; 0 is no bound.
traps.segments | Path segments | How many parts a path may have; 0 is no bound.
traps.parameters | Parameters | How many parameters an address may have; 0 is no bound.
traps.barren | Pages without content | How many pages such as logins are fetched before the rest is left; 0: all.
traps.duplicates | Copies | Whether links of pages that show the same as another page are followed.
traps.soft_404 | Error pages in disguise | Whether a suspicious site is asked once for a page that cannot exist.
limits | Limits | When the crawl ends.
limits.pages | Pages | How many pages are fetched at most.
limits.bytes | Size | How much is archived at most.
limits.time | Time | How long the crawl runs at most.
limits.pages_per_domain | Pages of a site | How many pages are fetched from one site at most.
limits.requisite_bytes | Size of images and the like | How much is fetched of what pages show; here 0 means nothing.
limits.requisite_file_bytes | Size of one such file | How large an image, film or the like may be.
limits.requisites_per_page | Files of a page | How many images, style sheets and scripts of a page are fetched at most.
limits.requisites_per_style_sheet | Files of a style sheet | How many files of a style sheet are fetched at most.
limits.parts_per_stream | Parts of a stream | How many pieces of one stream of film or sound are fetched at most.
limits.stream_lines | Finest picture of a stream | How many lines the quality that is chosen may have.
limits.page_bytes | Size of a page | How much of a page is read; all of it is archived.
limits.browser_pages | Pages in a browser | How many pages are looked at in a browser at most.
limits.browser_time | Time in a browser | How long pages are looked at in a browser in all.
politeness | Politeness | How gently sites are asked.
politeness.delay | Delay | The time between two fetches from one site.
politeness.connections | Connections | How many connections to one site there may be at once.
politeness.timeout | Patience | How long a server may be silent.
politeness.retries | Repetitions | How often a failed fetch is tried again.
politeness.robots | robots.txt | Whether the rules that sites give crawlers are obeyed; have the right to ignore them.
politeness.nofollow | Links marked nofollow | Whether links that pages mark so are left aside.
politeness.max_delay | Longest delay | The longest delay that a site can ask for or lead to.
politeness.delay_factor | Delay of slow sites | The delay as a multiple of the time a slow site takes to answer.
politeness.domains | Exceptions | Other delays and budgets for single sites and hosts.
politeness.domains.delay | Delay | The time between two fetches from this site.
politeness.domains.max_delay | Longest delay | The longest delay that this site can ask for.
politeness.domains.connections | Connections | How many connections to this site there may be at once.
politeness.domains.pages | Pages | How many pages this site may have.
politeness.domains.bytes | Size | How much this site may send.
politeness.domains.depth | Most links from a seed | How many links from a seed its pages may be.
network | Network | How sites are reached.
network.resolve | Addresses of hosts | The IP address, and a port if need be, that a host is reached by.
network.allow_private | Private networks | Networks of your own that may be connected to, one a line, or true for all.
network.proxy | Proxy | The proxy that all sites are reached through.
network.proxy.url | Proxy | The address of a proxy that all sites are reached through.
network.proxy.user | User of the proxy | The name that the proxy is told.
network.proxy.password | Password of the proxy | Where the password is: a variable, or a file.
network.proxy.plain | http through the proxy | How requests without encryption go through the proxy.
network.hosts | Proxies and certificates of hosts | How single hosts are reached.
network.hosts.proxy | Proxy | Another proxy for this host; direct is none.
network.hosts.proxy.url | Proxy | The address of the proxy.
network.hosts.proxy.user | User of the proxy | The name that the proxy is told.
network.hosts.proxy.password | Password of the proxy | Where the password is: a variable, or a file.
network.hosts.proxy.plain | http through the proxy | How requests without encryption go through the proxy.
network.hosts.certificates | Certificates | Whether certificates that do not verify are accepted.
network.hosts.ca_file | Authority | A file with certificates to trust for this host.
network.hosts.client_certificate | Certificate of the crawler | A file with the certificate that this host is shown.
network.hosts.client_key | Its key | A file with the key of that certificate.
network.hosts.client_passphrase | Its passphrase | Where the passphrase is: a variable, or a file.
network.cookies | Cookies | Whether cookies are kept and sent.
network.cookies_file | File of cookies | The whole path of a cookies.txt to begin with.
network.accounts | Accounts | Users and passwords of hosts that ask for them by HTTP.
network.accounts.user | User | The name of the user.
network.accounts.password | Password | Where the password is: a variable, or a file.
network.headers | Headers | Headers for the requests to a host.
network.logins | Logins | Forms to log in by.
network.logins.url | Page | The page with the form.
network.logins.fields | Fields | What is filled in, by the names of the form's fields.
network.logins.logged_in | Sign of success | What pages show to those who are logged in.
network.logins.page | Page to look at | A page on which that sign can be looked for.
network.logins.tries | Tries | After how many failed logins in a row the site is given up.
network.secrets_over_http | Secrets without encryption | Hosts that may be sent secrets without encryption, one a line.
value.text | Text | The value itself.
value.env | Variable | The variable of the environment that holds the value.
value.file | File | The whole path of a private file that holds the value.
archive | Archive | Where the archive is kept.
archive.target | Copies go to | A folder or a storage address that finished files are copied to.
archive.reserve | Space left free | How much of the disk is left free; with less the crawl pauses.
archive.size | Size of a file | After how much an archive file is closed and the next one begun.
archive.redact | Mask passwords | Whether what lets others log in is masked in the archive.
""")
"""Every field, by its path."""

CHOICE_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "scope.sites": {"seeds": "only the sites of the seeds", "anywhere": "wherever the subject leads"},
    "scope.canonical.sessions": {"drop": "leave them out", "keep": "leave them as they are"},
    "sources.sitemaps": {"off": "no", "robots": "those that robots.txt names", "guess": "look for them as well"},
    "sources.feeds": {"off": "no", "linked": "those that links lead to", "announced": "all that pages announce"},
    "sources.listings": {"off": "no", "last": "yes, last"},
    "sources.linked_data": {
        "off": "no",
        "alternates": "those that pages name",
        "first": "RDF before HTML, and those that pages name",
    },
    "sources.forms": {"off": "no", "safe": "yes, those known to be safe"},
    "captures.snapshot": {
        "auto": "the first within the time of the event, or the newest where there is no event",
        "earliest-in-event": "the first within the time of the event, or the one nearest to it",
        "first-after-event": "the first after the event began",
        "nearest": "the one nearest to a date",
        "newest": "the newest",
        "all": "all of them",
    },
    "browser.use": {"auto": "where scripts make the content", "always": "for every page", "never": "never"},
    "scoring.update": {
        "first": "keep the first score",
        "last": "take the last score",
        "max": "take the highest score",
        "sum": "add the scores up",
        "avg": "take their mean",
    },
    "scoring.relevance.combination": {
        "linear": "their weighted sum",
        "product": "their product",
        "gated": "the subject, less where the time is far",
    },
    "scoring.relevance.dates": {
        "gossen": "publication, else the capture",
        "klein": "capture within the event, else publication; without one the page is dismissed",
    },
    "traps.duplicates": {"skip": "leave them", "follow": "follow them"},
    "traps.soft_404": {"probe": "yes", "ignore": "no"},
    "politeness.robots": {"obey": "obey it", "ignore": "ignore it"},
    "politeness.nofollow": {"ignore": "follow them all the same", "obey": "leave them aside"},
    "network.proxy.plain": {"tunnel": "through a tunnel, as https does", "forward": "handed to the proxy"},
    "network.cookies": {"keep": "keep them", "off": "neither keep nor send them"},
}
"""What each choice means; true and false are yes and no."""
