import os
from pathlib import Path

import pytest

from tests.online_analysis.definitions import SMALLEST, mistakes_in, only_mistake


@pytest.mark.parametrize(
    ("line", "field", "problem", "advice"),
    [
        ("titel: x", "titel", "no field", "`title`"),
        ("scope: {dney: [a]}", "scope.dney", "no field", "`deny`"),
        ("xyzzy: x", "xyzzy", "no field", "one of id, title"),
        ("scope: {sites: nowhere}", "scope.sites", "not among the choices", "'seeds' or 'anywhere'"),
        ("scope: {deny: '/a/'}", "scope.deny", "must be a list", "deny: ["),
        ("scope: {depth: -1}", "scope.depth", "negative", "0 or more"),
        ("scope: {depth: deep}", "scope.depth", "no whole number", "depth: 10"),
        ("scope: {languages: [deu]}", "scope.languages[0]", "ISO 639-1", "two letters"),
        ("scope: {deny: ['*']}", "scope.deny[0]", "every URL", "glob"),
        ("scope: {deny: ['a b']}", "scope.deny[0]", "space", "glob"),
        ("scope: {deny: ['host:a/b']}", "scope.deny[0]", "names no host", "host:example.org"),
        ("scope: {deny: [forum.example]}", "seeds[0]", "denied by scope.deny", "remove the seed"),
        ("scope: {allow: [/other/]}", "seeds[0]", "scope.allow", "add a pattern"),
        ("captures: {sources: []}", "captures.sources", "empty list", "`live`"),
        ("captures: {sources: [lve]}", "captures.sources[0]", "no source", "`live`"),
        ("captures: {sources: [live, {live: true}]}", "captures.sources", "twice", "remove"),
        ("captures: {sources: [{name: x}]}", "captures.sources[0]", "not one source", "archive"),
        ("captures: {sources: [{archive: [/nowhere/x]}]}", "captures.sources[0].archive[0]", "does not exist", "WARC"),
        ("captures: {sources: [{memento: {}}]}", "captures.sources[0].memento", "no address", "timegate"),
        ("captures: {sources: [{cdx: {server: 'http://a.test/'}}]}", "captures.sources[0].cdx", "how", "`replay:`"),
        ("captures: {snapshot: nearest}", "captures", "no date", "nearest_to"),
        ("captures: {nearest_to: 2013-06-12}", "captures", "not asked for", "nearest"),
        ("captures: {snapshot: first-after-event}", "captures.snapshot", "event", "under event"),
        ("scoring: {weights: {text: 0, url: 0, spam: 0}}", "scoring.weights", "all zero", "above 0"),
        ("scoring: {weights: {text: 0}}", "scoring.weights", "all zero", "above 0"),
        ("scoring: {weights: {text: 0, url: 0, spam: 1}}", "scoring.weights", "all zero", "above 0"),
        ("scoring: {weights: {txt: 1}}", "scoring.weights.txt", "no analyser", "text, url, spam"),
        ("scoring: {weights: {text: -1}}", "scoring.weights.text", "negative", "0 or more"),
        ("scoring: {weights: {text: .nan}}", "scoring.weights.text", "no number", "weights"),
        ("scoring: {weights: {text: nan}}", "scoring.weights.text", "finite", "weights"),
        ("scoring: {weights: 3}", "scoring.weights", "name: value", "weights"),
        ("scoring: {relevant: 1.5}", "scoring.relevant", "too large", "at most 1"),
        ("scoring: {update: median}", "scoring.update", "choices", "'sum'"),
        ("scoring: {batch: 0}", "scoring.batch", "too small", "1 or more"),
        ("scoring: {explore: 0.6}", "scoring.explore", "too large", "at most 0.5"),
        ("scoring: {explore: -0.1}", "scoring.explore", "negative", "0 or more"),
        ("scoring: {explore: nan}", "scoring.explore", "finite", "explore: 0.05"),
        ("scoring: {seed: -1}", "scoring.seed", "negative", "0 or more"),
        ("scoring: {seed: x}", "scoring.seed", "no whole number", "seed: 7"),
        ("scoring: {seed: 99999999999999999999}", "scoring.seed", "too large", "at most"),
        (
            "scoring: {post_to: {url: 'http://a.test/', crawl: a, at_leat: 1}}",
            "scoring.post_to.at_leat",
            "no field",
            "`at_least`",
        ),
        ("scoring: {post_to: {url: 'http://a.test/'}}", "scoring.post_to.crawl", "missing", "crawl: solar-villages"),
        ("scoring: {post_to: {url: a.test, crawl: a}}", "scoring.post_to.url", "no URL", "whole URL"),
        ("scoring: {post_to: {url: 'http://u:p@a.test/', crawl: a}}", "scoring.post_to.url", "user name", "remove"),
        ("scoring: {post_to: {url: 'http://a.test/', crawl: ../a}}", "scoring.post_to.crawl", "safe folder", "letters"),
        (
            "scoring: {post_to: {url: 'http://a.test/', crawl: a, at_least: 2}}",
            "scoring.post_to.at_least",
            "too large",
            "at most 1",
        ),
        ("scoring: {post_to: http://a.test/}", "scoring.post_to", "must hold fields", "post_to: {url"),
        ("scoring: {entity_model: xx_no_such_model}", "scoring.entity_model", "not installed", "spacy download xx_no"),
        ("scoring: {entity_model: ..}", "scoring.entity_model", "no spaCy pipeline", "nlp.to_disk"),
        ("scoring: {entity_model: [a]}", "scoring.entity_model", "must be one value", "entity_model: de_core"),
        ("scoring: {spam_hosts: [http://a/]}", "scoring.spam_hosts[0]", "no host", "host name"),
        ("scoring: {spam_hosts: nowhere.txt}", "scoring.spam_hosts", "does not exist", "one host a line"),
        ("scoring: {url_patterns: {/x/: 2}}", "scoring.url_patterns./x/", "too large", "at most 1"),
        ("event: {start: 2024-02-01, end: 2024-01-01}", "event.end", "before the start", "2024-02-01"),
        ("event: {start: soon, end: 2024-01-01}", "event.start", "no date", "2024-05-01"),
        ("event: {start: 2024-02-01}", "event.end", "missing", "end: 2024"),
        (
            "event: {start: 2024-01-01, end: 2024-01-02, lead: 2 months}",
            "event.lead",
            "'months' is no unit",
            "30 days",
        ),
        ("limits: {bytes: much}", "limits.bytes", "no size", "2 GB"),
        ("limits: {bytes: 2 GB 3 MB}", "limits.bytes", "no size", "2 GB"),
        ("limits: {time: -3 hours}", "limits.time", "negative", "12 hours"),
        ("limits: {time: 900000 days}", "limits.time", "hundred years", "12 hours"),
        ("limits: {pages: 1.5}", "limits.pages", "no whole number", "pages: 10000"),
        ("limits: {pages: [1]}", "limits.pages", "one number", "pages: 10000"),
        ("limits: {page_bytes: 10}", "limits.page_bytes", "too small", "1000 or more"),
        ("politeness: {robots: ignored}", "politeness.robots", "choices", "'obey' or 'ignore'"),
        ("politeness: {connections: 0}", "politeness.connections", "too small", "1 or more"),
        ("politeness: {domains: {a.test: {dleay: 5 s}}}", "politeness.domains.a.test.dleay", "no field", "`delay`"),
        ("politeness: {domains: {a.test: {delay: long}}}", "politeness.domains.a.test.delay", "no duration", "30 days"),
        ("politeness: {domains: {'a b': {delay: 5 s}}}", "politeness.domains.a b", "no host", "forum.test"),
        ("politeness: {delay_factor: -1}", "politeness.delay_factor", "negative", "0 or more"),
        ("politeness: {timeout: 0}", "politeness.timeout", "zero", "60 s"),
        ("network: {resolve: {a.test: example.org}}", "network.resolve.a.test", "no IP address", "127.0.0.1:8080"),
        ("network: {resolve: {a.test: '127.0.0.1:99999'}}", "network.resolve.a.test", "no IP address", "[::1]:8080"),
        ("network: {resolve: {'http://a': '::1'}}", "network.resolve.http://a", "no host", "forum.test"),
        ("network: {allow_private: maybe}", "network.allow_private", "neither true nor false", "127.0.0.0/8"),
        ("network: {allow_private: [300.0.0.1]}", "network.allow_private[0]", "no network", "127.0.0.0/8"),
        ("archive: {target: 's3://key:secret@bucket/a'}", "archive.target", "password", "fsspec's configuration"),
        ("archive: {target: 's3://key:se/cr/et@bucket/a'}", "archive.target", "password", "fsspec's configuration"),
        ("archive: {target: 'dir::sftp://me:pass@host/a'}", "archive.target", "password", "environment"),
        ("archive: {target: 'az://a/b?sig=abc'}", "archive.target", "question mark", "fsspec"),
        ("archive: {target: ' '}", "archive.target", "no URL", "s3://bucket"),
        ("archive: {targt: /mnt}", "archive.targt", "no field", "`target`"),
        ("archive: {reserve: lots}", "archive.reserve", "no size", "2 GB"),
        ("archive: {size: 10}", "archive.size", "too small", "1000 or more"),
        ("title: [a]", "title", "must be one value", "title: Solar"),
        ("title: '  '", "title", "empty", "some words"),
        ("id: other", "id", "given twice", "line 1"),
    ],
)
def test_each_mistake_names_its_field_and_what_to_write(line: str, field: str, problem: str, advice: str) -> None:
    mistake = only_mistake(line)
    assert mistake.field == field
    assert problem in mistake.problem
    assert advice in mistake.advice
    assert mistake.line == (3 if field.startswith("seeds") else 5)


@pytest.mark.parametrize(
    ("old", "new", "field", "problem"),
    [
        ("id: solar", "id: ../etc", "id", "safe folder name"),
        ("id: solar", "id: a.", "id", "safe folder name"),
        ("id: solar", "id: 'a\\\\b'", "id", "safe folder name"),
        ("archive@example.org", "me", "contact", "neither an e-mail"),
        ("archive@example.org", '"a@b.c\\r\\nX: y"', "contact", "neither an e-mail"),
        ("https://forum.example.org/", "ftp://a.test/", "seeds[0]", "only http and https"),
        ("https://forum.example.org/", "forum.example.org", "seeds[0]", "no URL"),
        ("https://forum.example.org/", "https://u:p@a.test/", "seeds[0]", "user name"),
        ("[https://forum.example.org/]", "[]", "seeds", "empty list"),
        ("[https://forum.example.org/]", "https://forum.example.org/", "seeds", "must be a list"),
        ("seeds: [https://forum.example.org/]\n", "", "seeds", "missing"),
        ("topic: {keywords: [solar power]}", "scope: {sites: anywhere}", "scope.sites", "no subject"),
        ("{keywords: [solar power]}", "{reference_crawl: 20}", "topic.reference_crawl", "no subject to refine"),
        ("[solar power]", "[the, 'and!', '?', x]", "topic", "no usable term"),
        ("[solar power]", "[der, und]", "topic", "no usable term"),
        ("[solar power]", "[solar power, the]", "topic.keywords[1]", "no usable term"),
        ("[solar power]", "[]\n  entities: ['...']", "topic", "no usable term"),
    ],
)
def test_mistakes_in_the_fields_that_every_crawl_has(old: str, new: str, field: str, problem: str) -> None:
    text = SMALLEST.replace("topic: {keywords: [solar power]}", "topic:\n  keywords: [solar power]")
    text = text if old in text else SMALLEST
    (mistake,) = mistakes_in(text.replace(old, new))
    assert mistake.field == field
    assert problem in mistake.problem


def test_every_mistake_is_reported_at_once_in_the_order_of_the_file() -> None:
    text = (
        SMALLEST.replace("id: solar", "id: /").replace("https", "gopher") + "scope:\n  depth: x\n  sites: y\nfoo: z\n"
    )
    found = [(mistake.line, mistake.field) for mistake in mistakes_in(text)]
    assert found == [(1, "id"), (3, "seeds[0]"), (6, "scope.depth"), (7, "scope.sites"), (8, "foo")]


def test_checks_across_fields_run_although_other_fields_are_wrong() -> None:
    text = SMALLEST.replace("solar power", "the") + "limits: {pages: x}\nscope: {deny: [forum]}"
    assert {mistake.field for mistake in mistakes_in(text)} == {"topic", "limits.pages", "seeds[0]"}


@pytest.mark.parametrize("language", ["de", "fr", "el"])
def test_stop_words_are_those_of_the_scope_languages(language: str) -> None:
    words = {"de": "und", "fr": "avec", "el": "και"}
    text = SMALLEST.replace("solar power", words[language]) + f"scope: {{languages: [{language}]}}"
    assert [mistake.field for mistake in mistakes_in(text)] == ["topic"]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "empty"),
        (b"# only a comment\n", 1, "empty"),
        (b"- a\n- b\n", 1, "no fields"),
        (b"just words", 1, "no fields"),
        (b"id: a\ntitle: b: c\n", 2, "no YAML"),
        (b"id: a\nscope:\n\tdepth: 3\n", 3, "tab"),
        (b"id: a\ntitle: \xff\n", 2, "UTF-8"),
        ("id: ä".encode("utf-16"), 1, "UTF-8"),
        (b"id: a\nb: \x07\n", 2, "control character U+0007"),
        (b"id: a\n---\nid: b\n", 2, "second document"),
        (b"a: &x [1]\nb: *x\n", 1, "alias"),
        (b"a: 1\nb: *x\n", 2, "alias"),
        (b"a: !!python/object:os.system x\n", 1, "tag"),
        (b"a: !!binary aGk=\n", 1, "tag"),
        (b"[a]: b\n", 1, "no plain word"),
        (b"a: " + b"[" * 500, 1, "nested too deeply"),
        (b'a: "\\UFFFFFFFF"', 1, "no YAML"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(content: bytes, line: int, problem: str) -> None:
    (mistake,) = mistakes_in(content)
    assert mistake.line == line
    assert problem in mistake.problem


def test_a_bomb_of_aliases_is_refused_before_it_unfolds() -> None:
    layers = [b"a0: &a0 [x, x]"] + [
        b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 30)
    ]
    assert "alias" in mistakes_in(b"\n".join(layers))[0].problem


def test_a_huge_file_is_refused() -> None:
    assert "larger than" in mistakes_in(b"a" * 5_000_000)[0].problem


def test_a_byte_order_mark_is_no_mistake() -> None:
    (mistake,) = mistakes_in(b"\xef\xbb\xbf" + SMALLEST.encode() + b"x: y")
    assert mistake.field == "x"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.txt", "does not exist"),
        ("folder", "is a folder"),
        ("blank.txt", "no usable term"),
        ("stop.html", "no usable term"),
        ("binary.pdf", "binary data"),
        ("x" * 500, "cannot be read"),
    ],
)
def test_a_reference_file_must_hold_terms(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "blank.txt").write_text(" \n")
    (tmp_path / "stop.html").write_text("<html><body><p>The and of!</p></body></html>")
    (tmp_path / "binary.pdf").write_bytes(b"%PDF-1.7\0\0\0")
    text = SMALLEST.replace("keywords: [solar power]", f"keywords: [solar power], documents: [{name}]")
    (mistake,) = mistakes_in(text, tmp_path)
    assert (mistake.field, mistake.line) == ("topic.documents[0]", 4)
    assert problem in mistake.problem


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_reference_file_must_be_readable(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("solar")
    (tmp_path / "a.txt").chmod(0)
    (mistake,) = mistakes_in(SMALLEST.replace("keywords: [solar power]", "documents: [a.txt]"), tmp_path)
    assert "cannot be read" in mistake.problem


def test_the_topic_says_how_large_its_reference_crawl_is() -> None:
    text = SMALLEST.replace("keywords: [solar power]", "keywords: [solar power], reference_crawl: 100001")
    (mistake,) = mistakes_in(text)
    assert (mistake.field, mistake.advice) == ("topic.reference_crawl", "write at most 100000")
