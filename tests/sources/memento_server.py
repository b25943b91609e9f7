"""An archive that answers by the Memento protocol, written here: in each of the ways that archives differ."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urljoin

from aahcrawler.replay.link_format import as_http_date, http_date, link
from aahcrawler.sources.remote_captures import RAW, MementoAddress
from tests.crawl.site import Reply, Site, serving
from tests.sources.dated import Dated

GATE, MAP, WEB = "/gate/", "/map/", "/web/"


@dataclass(slots=True)
class MadeUpArchive:
    """Captures by URL. ``/gate/URL`` is the TimeGate, ``/map/URL`` the TimeMap, and ``/web/14 digits/URL`` a memento.

    ``redirects`` says that the TimeGate redirects to its choice, ``names_next`` that it names the mementos before and
    behind that, ``is_raw`` that mementos are had as they were captured, ``marks`` that the original's fields are marked
    as such. ``page_size`` is how many mementos a page of a TimeMap has. ``replies`` are given in the place of all else.
    """

    captures: Sequence[Dated]
    redirects: bool = False
    names_next: bool = False
    is_raw: bool = True
    marks: bool = True
    page_size: int = 1000
    replies: dict[str, Reply] = field(default_factory=dict)
    site: Site = field(default_factory=Site)

    @property
    def root(self) -> str:
        """The address that all others begin with."""
        return self.site.url.removesuffix("/")

    @property
    def timegate(self) -> str:
        """The address of the TimeGate."""
        return self.root + GATE

    @property
    def timemap(self) -> str:
        """The address of the TimeMaps."""
        return self.root + MAP

    def asked(self) -> list[str]:
        """Return the kinds of requests, in order."""
        return [path.split("/")[1] for path in self.site.paths()]

    def answer(self, path: str) -> Reply:
        """Answer a request."""
        if path in self.replies:
            return self.replies[path]
        if path.startswith(GATE):
            return self._negotiated(path.removeprefix(GATE))
        if path.startswith(MAP):
            return self._listed(path.removeprefix(MAP))
        address = MementoAddress.read(self.root + path)
        return Reply(status=404) if address is None else self._memento(address)

    def uri(self, capture: Dated, modifier: str = "") -> str:
        """Return the URI-M of a capture."""
        return f"{self.root}{WEB}{stamp(capture)}{modifier}/{capture.url}"

    def _of(self, url: str) -> list[Dated]:
        return sorted((each for each in self.captures if each.url == url), key=lambda each: each.at)

    def _negotiated(self, url: str) -> Reply:
        found = self._of(url)
        if not found:
            return Reply(status=404)
        fields = {name.lower(): value for name, value in self.site.asked[-1].headers}
        wanted = http_date(fields.get("accept-datetime", "")) or datetime.now(UTC)
        chosen = min(found, key=lambda each: abs(date_of(each) - wanted))
        fields = {"Vary": "accept-datetime", "Link": self._links(url, found, chosen)}
        if self.redirects:
            return Reply(status=302, headers={**fields, "Location": self.uri(chosen)})
        return Reply(b"<html>a frame</html>", headers=fields)

    def _listed(self, path: str) -> Reply:
        number, url = path.split("/", 1) if path[:1].isdigit() else ("0", path)
        found, first = self._of(url), int(number) * self.page_size
        if not found:
            return Reply(status=404)
        shown = found[first : first + self.page_size]
        lines = [link(url, "original"), *(self._memento_link(each, "memento") for each in shown)]
        if first + self.page_size < len(found):
            lines.append(link(f"{self.timemap}{int(number) + 1}/{url}", "timemap", type="application/link-format"))
        return Reply(",\n".join(lines).encode(), headers={"Content-Type": "application/link-format"})

    def _memento(self, address: MementoAddress) -> Reply:
        found = self._of(address.url)
        if not found or (address.modifier == RAW and not self.is_raw):
            return Reply(b"<html>Not in our archive.</html>", status=404)
        chosen = min(found, key=lambda each: abs(int(stamp(each)) - int(address.stamp)))
        if stamp(chosen) != address.stamp:
            return Reply(status=302, headers={"Location": self.uri(chosen, address.modifier)})
        own = {f"X-Archive-Orig-{name}" if self.marks else name: value for name, value in chosen.fields.items()}
        if "Content-Type" in chosen.fields:
            own["Content-Type"] = chosen.fields["Content-Type"]
        if "Location" in chosen.fields:
            target = urljoin(chosen.url, chosen.fields["Location"])
            own["Location"] = f"{WEB}{stamp(chosen)}{address.modifier}/{target}"
        fields = {**own, "Memento-Datetime": as_http_date(date_of(chosen)), "Link": link(chosen.url, "original")}
        body = chosen.body if address.modifier == RAW else self._rewritten(chosen)
        return Reply(body.encode(), int(chosen.status[:3]), fields)

    def _rewritten(self, capture: Dated) -> str:
        """Return the page as archives show it: a banner, and links into the archive."""
        shown = capture.body.replace("<html>", "<html><!-- WB Insert --><a href='/help'>?</a><!-- End WB Insert -->")
        prefix = f"{WEB}{stamp(capture)}/"
        return shown.replace('href="/', f'href="{prefix}http://dikes.test/').replace(
            'href="http', f'href="{prefix}http'
        )

    def _links(self, url: str, found: Sequence[Dated], chosen: Dated) -> str:
        at = found.index(chosen)
        lines = [link(url, "original"), self._memento_link(chosen, "memento")]
        if self.names_next and at:
            lines.append(self._memento_link(found[at - 1], "prev memento"))
        if self.names_next and at + 1 < len(found):
            lines.append(self._memento_link(found[at + 1], "next memento"))
        return ", ".join(lines)

    def _memento_link(self, capture: Dated, relation: str) -> str:
        return link(self.uri(capture), relation, datetime=as_http_date(date_of(capture)))


def date_of(capture: Dated) -> datetime:
    """Return the moment of a capture."""
    return datetime.fromisoformat(capture.at)


def stamp(capture: Dated) -> str:
    """Return the moment of a capture in 14 digits."""
    return f"{date_of(capture):%Y%m%d%H%M%S}"


@contextmanager
def archive_of(*captures: Dated, **ways: object) -> Iterator[MadeUpArchive]:
    """Run an archive until the block ends."""
    archive = MadeUpArchive(captures, **ways)  # type: ignore[arg-type]
    archive.site.other = archive.answer
    with serving(archive.site):
        yield archive


def source(archive: MadeUpArchive, *kinds: str) -> Mapping[str, object]:
    """Return the entry of a definition for an archive, by its TimeGate, its TimeMaps, or both."""
    return {"memento": {kind: getattr(archive, kind) for kind in kinds or ("timegate", "timemap")}}
