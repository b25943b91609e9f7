"""Make the dictionary that queued URLs are compressed with: ``aahcrawler/frontier/redis/urls-1.zdict``.

    python -m benchmarks.url_dictionary TARGET

It is trained on made-up URLs in the forms that widely used software documents (WordPress, phpBB, vBulletin, XenForo,
SMF, Discourse, MediaWiki, Joomla, Drupal, shops), with the most frequent words of several languages and the most common
top-level domains. Records are kept in the form that ``aahcrawler.frontier.redis.url_record_bodies`` writes. The records
of a crawl name the dictionary by its number: one that was ever released is never changed, a better one gets the next
number.
"""

import random
import sys
from pathlib import Path

import zstandard

from aahcrawler.frontier.redis.url_record_bodies import Body, written

BYTES = 16_384
SAMPLES = 60_000
LANGUAGES = ("en", "en", "de", "fr", "es", "it", "pt", "nl")

_COUNTRIES = "co.uk fr it es info eu nl pl ru com.au ca blog io com.br ch at be se cz us edu gov"
_TOP = (*["com"] * 10, *["org"] * 4, *["net", "de"] * 3, *_COUNTRIES.split())
_STARTS = (
    *["https://www."] * 5,
    *["https://"] * 5,
    *["http://www.", "http://"] * 3,
    *(f"https://{name}." for name in ("forum", "blog", "en", "m", "news", "shop", "wiki")),
)
_FORMS = (
    "/{year}/{month}/{day}/{slug}/",
    "/{year}/{month}/{slug}.html",
    "/{slug}/",
    "/category/{word}/page/{few}/",
    "/tag/{slug}/",
    "/author/{word}/",
    "/?p={many}",
    "/wp-content/uploads/{year}/{month}/{slug}.jpg",
    "/{slug}/feed/",
    "/viewtopic.php?f={few}&t={many}",
    "/forum/viewtopic.php?f={few}&t={many}&start={few}0",
    "/viewforum.php?f={few}&start={few}5",
    "/showthread.php?t={many}&page={few}",
    "/forum/showthread.php?{many}-{slug}",
    "/threads/{slug}.{many}/page-{few}",
    "/threads/{slug}.{many}/",
    "/forums/{slug}.{few}/",
    "/index.php?topic={many}.{few}0",
    "/index.php?title={name}&oldid={many}",
    "/index.php?title={name}&action=history",
    "/wiki/{name}",
    "/w/index.php?title=Special:{word}/{name}",
    "/t/{slug}/{many}",
    "/{word}/{slug}-{many}.html",
    "/{word}/{word}/{slug}.html",
    "/{word}/{slug}.aspx?id={many}",
    "/product/{slug}-{many}",
    "/products/{slug}?variant={many}",
    "/index.php?option=com_content&view=article&id={many}:{slug}&catid={few}&Itemid={few}",
    "/node/{many}",
    "/search?q={slug}&page={few}",
    "/news/{year}/{word}/{slug}",
    "/article/{many}/{slug}",
    "/blog/{slug}",
    "/en/{word}/{slug}",
    "/images/{word}/{slug}.png",
    "/static/css/{word}.css?v={many}",
    "/assets/js/{word}.min.js",
    "/index.php?id={many}&L={few}&page={few}",
    "/profile/{many}-{word}/",
    "/member.php?u={many}",
    "/",
)


class Inventor:
    """Makes up URLs in one language."""

    def __init__(self, language: str, chance: random.Random) -> None:
        self._chance = chance
        from wordfreq import top_n_list  # noqa: PLC0415 - what it imports takes long

        self._words = [word for word in top_n_list(language, 20_000) if word.isascii() and word.isalpha()]

    def body(self) -> bytes:
        """Return a URL, one of a page that links there, and a path, in the form that records keep."""
        chance = self._chance
        host, form = self._host(), chance.choice(_FORMS)
        via_host = host if chance.random() < 0.7 else self._host()
        via_form = form if chance.random() < 0.5 else chance.choice(_FORMS)
        path = "".join(chance.choice("LLLN") for _ in range(chance.randint(1, 6))) + chance.choice(("", "", "E", "R"))
        queue = host.partition("://")[2].removeprefix("www.")
        return written(Body(host + self._filled(form), queue, via_host + self._filled(via_form), path))

    def _host(self) -> str:
        words = (self._word() for _ in range(self._chance.randint(1, 3)))
        return f"{self._chance.choice(_STARTS)}{self._chance.choice(('', '-')).join(words)}.{self._chance.choice(_TOP)}"

    def _filled(self, form: str) -> str:
        chance = self._chance
        slug = [self._word() for _ in range(chance.randint(2, 7))]
        return form.format(
            year=chance.randint(2003, 2026),
            month=f"{chance.randint(1, 12):02}",
            day=f"{chance.randint(1, 31):02}",
            few=chance.randint(1, 99),
            many=int(10 ** chance.uniform(0, 7)),
            word=self._word(),
            slug="-".join(slug),
            name="_".join(slug).capitalize(),
        )

    def _word(self) -> str:
        return self._words[min(int(self._chance.paretovariate(0.6)), len(self._words) - 1)]


def main(target: Path) -> None:
    """Make up URLs and train the dictionary."""
    chance = random.Random(1)
    inventors = [Inventor(language, chance) for language in LANGUAGES]
    samples: list[bytes | bytearray | memoryview[int]] = [chance.choice(inventors).body() for _ in range(SAMPLES)]
    target.write_bytes(zstandard.train_dictionary(BYTES, samples).as_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
