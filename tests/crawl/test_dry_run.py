"""The first page of each seed, before anything is crawled: told as the crawl would, politely, and nothing is kept."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.crawl.startup.dry_run import DryRun, TriedSeed, open_dry_run
from aahcrawler.crawl.startup.dry_run_tables import lines_of
from aahcrawler.seeds import Verdict
from tests.crawl.gate import Gate
from tests.crawl.site import Answer, Reply, Site, html, links, serving

TEXT = "<p>" + "Solar power is made by photovoltaics on the roofs of the village. " * 8 + "</p>"
FRONT = html("Solar", TEXT + links("/a", "/b", "http://elsewhere.test/", "/print/c", "mailto:x@y.test"))
NO_RULES = Reply(b"", 404)


def pages(**hosts: Answer) -> dict[str, Answer]:
    """Return a front page for each host, and no robots.txt anywhere."""
    return {"/robots.txt": NO_RULES, **{f"//{host}.test/": answer for host, answer in hosts.items()}}


def definition(folder: Path, site: Site, hosts: Mapping[str, str] | tuple[str, ...], more: str = "") -> Path:
    """Write the definition of a crawl whose seeds are the front pages of hosts."""
    names = "".join(f"\n  - http://{host}.test/" for host in hosts)
    resolve = "".join(f"\n    {host}.test: 127.0.0.1:{site.port}" for host in hosts)
    text = (
        f"id: dry\ncontact: a@b.example\nseeds:{names}\ntopic: {{keywords: [solar power, photovoltaics]}}\n"
        f"politeness: {{delay: 50 ms, timeout: 5 s}}\n"
        f"network:\n  allow_private: [127.0.0.0/8]\n  resolve:{resolve}\n"
        f"scope:\n  deny: [/print/]\noutput: {folder / 'crawl'}\n{more}"
    )
    path = folder / "dry.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def tried(path: Path, *seeds: str, **options: float) -> dict[str, TriedSeed]:
    opened = open_dry_run(path)
    found: list[TriedSeed] = []
    DryRun(opened.context, **options).run(seeds or opened.context.icd.seeds, found.append)
    return {each.url.removeprefix("http://").removesuffix(".test/"): each for each in found}


def test_a_seed_is_shown_with_its_score_and_its_best_links(tmp_path: Path) -> None:
    with serving(Site(pages(a=FRONT))) as site:
        seed = tried(definition(tmp_path, site, ("a",)))["a"]
        assert [asked.path for asked in site.asked] == ["/robots.txt", "/"]
        assert all(asked.agent.startswith("AAHCrawler/") and "+a@b.example" in asked.agent for asked in site.asked)
    assert (seed.verdict, seed.status, seed.title, seed.language) == (Verdict.FETCHED, 200, "Solar", "en")
    assert seed.is_relevant
    assert seed.followed == 2
    assert seed.avoided == {"denied": 1, "other_site": 1}
    assert [link.url for link in seed.best] == sorted(link.url for link in seed.best)
    assert seed.best[0].anchor == "/a"
    assert seed.hints == ()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "dry.yaml"], "nothing is kept"


def test_each_way_to_fail_has_its_verdict_and_advice(tmp_path: Path) -> None:
    hosts: dict[str, Answer] = {
        "gone": Reply(b"<h1>Not found</h1>", 404),
        "forbidden": Reply(b"no", 403),
        "broken": Reply(b"no", 500),
        "moved": Reply(b"", 302, {"Location": "http://a.test/"}),
        "away": Reply(b"", 302, {"Location": "http://nowhere.example/"}),
        "loop": Reply(b"", 302, {"Location": "http://loop.test/"}),
        "raw": Reply(raw=lambda: [b"nonsense of a server\r\n\r\n"]),
        "a": FRONT,
        "dull": html("Cakes", "<p>" + "Butter and sugar make a cake that is sweet. " * 10 + "</p>" + links("/x")),
    }
    with serving(Site(pages(**hosts))) as site:
        site.pages["//denied.test/robots.txt"] = Reply(
            b"User-agent: *\nDisallow: /\n", headers={"Content-Type": "text/plain"}
        )
        site.pages["//unknown.test/robots.txt"] = Reply(b"", 503)
        found = tried(definition(tmp_path, site, (*hosts, "denied", "unknown")))
        assert not [asked for asked in (*site.of("denied.test"), *site.of("unknown.test")) if asked.path == "/"]
    verdicts = {name: seed.verdict for name, seed in found.items()}
    assert verdicts == {
        "gone": Verdict.NOT_FOUND,
        "forbidden": Verdict.FORBIDDEN,
        "broken": Verdict.SERVER_ERROR,
        "moved": Verdict.FETCHED,
        "away": Verdict.OUT_OF_SCOPE,
        "loop": Verdict.REDIRECT_LOOP,
        "raw": Verdict.NO_HTTP,
        "a": Verdict.FETCHED,
        "dull": Verdict.OFF_TOPIC,
        "denied": Verdict.ROBOTS,
        "unknown": Verdict.ROBOTS_UNREACHABLE,
    }
    assert found["moved"].ended_at == "http://a.test/"
    assert found["away"].ended_at == ""
    assert [name for name, seed in found.items() if not seed.gives and not seed.hints] == []
    assert "subject" in found["dull"].hints[0]
    assert "robots.txt" in found["denied"].detail


def test_names_and_private_networks_are_judged_as_in_a_crawl(tmp_path: Path) -> None:
    with serving(Site(pages(a=FRONT))) as site:
        path = definition(tmp_path, site, ("a",))
        path.write_text(
            path.read_text().replace("[127.0.0.0/8]", "false").replace("seeds:", "seeds:\n  - http://no.invalid/"),
            "utf-8",
        )
        found = tried(path)
        assert site.asked == []
    assert [seed.verdict for seed in found.values()] in (
        [Verdict.NAME, Verdict.PRIVATE],
        [Verdict.PRIVATE, Verdict.NAME],
    )


def test_links_that_are_all_avoided_are_explained(tmp_path: Path) -> None:
    with serving(Site(pages(a=html("Solar", TEXT + links("http://x.example/", "http://y.example/"))))) as site:
        seed = tried(definition(tmp_path, site, ("a",)))["a"]
    assert seed.followed == 0
    assert "scope.sites" in seed.hints[0]
    assert any("scope.sites" in line for line in lines_of(seed))


def test_slow_seeds_are_given_up_and_late_ones_not_begun(tmp_path: Path) -> None:
    gate = Gate()
    slow = {f"slow{n}": gate.holding(Reply(b"late")) for n in range(2)}
    with serving(Site(pages(**slow, a=FRONT))) as site:
        path = definition(tmp_path, site, (*slow, "a"), "")
        path.write_text(path.read_text("utf-8").replace("timeout: 5 s", "timeout: 10 min"), "utf-8")
        seconds = 2.0 + 10 * tried(path, "http://a.test/")["a"].seconds  # What a machine takes under any load is less.
        found = tried(path, seed_seconds=seconds)
        asked = [each.at for each in site.asked if each.host in {"slow0.test", "slow1.test"} and each.path == "/"]
        gate.open()
    assert len(asked) == 2
    assert asked[1] - asked[0] < seconds, "the second does not wait until the first one is given up"
    assert found["a"].verdict is Verdict.FETCHED
    assert found["slow0"].verdict is Verdict.TIMEOUT
    assert "given up" in found["slow1"].detail
    late = tried(path, all_seconds=-1.0)
    assert {seed.verdict for seed in late.values()} == {Verdict.PENDING}


def test_delays_are_kept_for_sites_and_machines_and_others_do_not_wait(tmp_path: Path) -> None:
    front: dict[str, Answer] = {"/robots.txt": NO_RULES, "/": FRONT, "/b": FRONT}
    with serving(Site(front)) as site, serving(Site(front)) as other:
        path = definition(tmp_path, site, ("a", "same", "far"))
        text = path.read_text().replace("  - http://a.test/", "  - http://a.test/\n  - http://a.test/b")
        text = text.replace(f"far.test: 127.0.0.1:{site.port}", f"far.test: 127.0.0.1:{other.port}")
        path.write_text(text.replace("delay: 50 ms", "delay: 300 ms"), "utf-8")
        found = tried(path)
        assert {seed.verdict for seed in found.values()} == {Verdict.FETCHED}
        asked = [each.at for each in site.asked]
        assert len(asked) == 5
        short = [later - earlier for earlier, later in pairwise(asked) if later - earlier <= 0.25]
        assert len(short) <= 2, "what is held up on its way comes late, and the next one in time"
        assert asked[-1] - asked[0] > 3 * 0.25
        assert max(each.at for each in other.asked) < asked[-1]


def test_whatever_a_page_says_is_told_on_lines_of_their_own(tmp_path: Path) -> None:
    evil = html("A\x1b[2Jtitle\nof lines", TEXT + '<a href="/a">x\x1b]0;owned\x07</a>')
    with serving(Site(pages(a=evil))) as site:
        seed = tried(definition(tmp_path, site, ("a",)))["a"]
    said = "\n".join(lines_of(seed))
    assert "\x1b" not in said
    assert "\x07" not in said


def test_the_command_writes_a_line_for_each_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(Site(pages(a=FRONT, gone=Reply(b"", 404)))) as site:
        path = str(definition(tmp_path, site, ("a", "gone"), "archive: {}\n"))
        outcome = CliRunner().invoke(app, ["icd", "try", path, "--json"])
        rows = [json.loads(line) for line in outcome.stdout.splitlines()]
        assert outcome.exit_code == 1
        assert [row["kind"] for row in rows] == ["seed", "seed", "end"]
        assert rows[-1] == {"kind": "end", "seeds": 2, "giving": 1}
        by_url = {row["url"]: row for row in rows[:-1]}
        assert by_url["http://a.test/"]["best"][0]["score"] > 0
        assert by_url["http://gone.test/"]["hints"]
        alone = CliRunner().invoke(app, ["icd", "try", path, "--seed", "http://a.test/"])
        assert alone.exit_code == 0
        assert "1 of 1 seeds give pages" in alone.stdout
        other = CliRunner().invoke(app, ["icd", "try", path, "--seed", "http://b.test/"])
        assert other.exit_code == 2
    assert CliRunner().invoke(app, ["icd", "try", str(tmp_path / "none.yaml")]).exit_code == 2
