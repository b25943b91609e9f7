"""Measures time and memory of `aah enrich` over many posts, and whether kills change what it says.

    python -m benchmarks.enrichment_scale --json FILE [--posts 100000] [--processes 2] [--kills 5] [--killed-posts 2000]

The posts are those of the worlds of ``enrichment_world.py``, some 60 words each in four languages, on boards of their
own. Each has one more sentence, with one of twenty thousand names. The command is run over them with the models
that are installed and without any, in processes of its own: ``wall_minutes`` of each step, the objects that it is done
with in a second, ``peak_mib`` of all its processes together, and the machine's ``load`` when it ended.

Then a smaller crawl is enriched with all steps, killed at moments drawn by lot, and gone on with, until it has been
killed so often; ``same`` says whether it ends with the same annotations, index and tables as one that nobody killed.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Final

from aahcrawler.annotations import AnnotationIndex
from aahcrawler.annotations.annotation import read_annotations
from aahcrawler.layout import ANNOTATIONS, DEFINITION, NQUADS
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.segments import Members, open_segment, segments
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.enrichment_world import world
from benchmarks.process_memory import run
from benchmarks.results import Row, report
from offline.enrichment.annotator import ObjectText
from offline.enrichment.enriching import enrich
from offline.enrichment.entity_annotator import EntityAnnotator
from offline.enrichment.steps import EnrichmentStep, Setting, chosen_steps
from online_analysis.icd import Icd

_POSTS_OF_WORLD: Final = 2_000
_NAMES: Final = 20_000
_TIMEOUT: Final = 12 * 3600
_BEGUN: Final = datetime(2025, 3, 1, tzinfo=UTC)
_SYLLABLES: Final = ("ba", "der", "fo", "gan", "hil", "jo", "ke", "lun", "mar", "nis", "or", "pel", "ri", "sta", "tu")


def posts(number: int) -> Iterator[ObjectText]:
    """Yield so many posts, articles and comments; those of one thread follow one another."""
    left, seed = number, 0
    while left > 0:
        seed += 1
        rng = Random(seed)
        for given in world(seed, min(left, _POSTS_OF_WORLD), kept_aside=True).objects[:left]:
            left -= 1
            yield _on_a_board_of_its_own(given, seed, f"{given.text} {_remark(rng)}")


def _on_a_board_of_its_own(given: ObjectText, seed: int, text: str) -> ObjectText:
    iri, url, part_of = (each.replace("://", f"://w{seed}.", 1) for each in (given.object, given.url, given.part_of))
    return ObjectText(iri, given.capture, given.type, url, text, author=given.author, published=given.published,
                      captured=given.captured, part_of=part_of, site=f"w{seed}.{given.site}")  # fmt: skip


def _remark(rng: Random) -> str:
    """Return a sentence with a name: a few names are in most sentences, most names in few (Zipf)."""
    number = int(_NAMES ** rng.random())
    first, last = (_word(number * factor + 7).title() for factor in (31, 101))
    return f"It was {first} {last} who wrote of {_word(int(_NAMES ** rng.random()))} here."


def _word(number: int) -> str:
    word = ""
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[place]
    return word


def write_crawl(crawl: Path, given: Iterable[ObjectText]) -> int:
    """Write a crawl's folder with captures of objects, those of one page in succession; return their number."""
    crawl.mkdir(parents=True)
    icd = Icd.parse(b"id: scale\ncontact: archive@example.org\nseeds: [http://board.test/]\n")
    (crawl / DEFINITION).write_text(json.dumps(icd.meaning()), "utf-8")
    number = 0
    with ObjectWriter(crawl / "objects", "scale", lambda: _BEGUN) as writer:
        for number, (url, of_page) in enumerate(groupby(given, lambda each: each.url), 1):
            at = _BEGUN + timedelta(seconds=number)
            record = f"urn:uuid:00000000-0000-4000-8000-{number:012d}"
            writer.write(CaptureDescription(record, url, 200, at, "text/html"), [_object(each) for each in of_page])
    return number


def _object(given: ObjectText) -> WebObject:
    properties: dict[str, tuple[Value, ...]] = {"author": (Person(given.author),), "body": (given.text,)}
    properties |= {"date": (given.published,)} if given.published else {}
    return WebObject(given.object, given.type, given.url, properties, given.part_of or None)


def without_models(setting: Setting) -> EntityAnnotator:
    """Return the annotator of names as it works if no model is installed."""
    return EntityAnnotator(setting.icd.topic.entities, {})


def enriching_steps(*, models: bool) -> Sequence[EnrichmentStep]:
    """Return all steps, with the installed models or without any."""
    plain = EnrichmentStep("entities", f"{__name__}:without_models")
    return [plain if step.name == "entities" and not models else step for step in chosen_steps(())]


def _enrich(crawl: Path, processes: int, *, models: bool) -> None:
    """Enrich a crawl in this process, and write a line of JSON for each step as it ends."""
    began = time.monotonic()
    for result in enrich(crawl, enriching_steps(models=models), processes=processes, leave_out=True):
        now = time.monotonic()
        told = {"step": result.step, "seconds": now - began, "objects": result.done.objects,
                "annotations": result.done.annotations, "is_left_out": result.is_left_out}  # fmt: skip
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        began = now


def _command(crawl: Path, processes: int, *, models: bool) -> list[str]:
    command = [sys.executable, "-m", "benchmarks.enrichment_scale", "--within", str(crawl)]
    return [*command, "--processes", str(processes), *([] if models else ["--without-models"])]


def size_rows(folder: Path, number: int, processes: int, *, models: bool) -> Iterator[Row]:
    """Enrich so many posts; yield a row for each step and one for all."""
    crawl = folder / f"models-{models}"
    captures = write_crawl(crawl, posts(number))
    done = run(_command(crawl, processes, models=models), os.environ, _TIMEOUT)
    if done.code:
        raise SystemExit(done.output)
    told = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    about = {"posts": number, "captures": captures, "processes": processes, "models": models}
    for each in told:
        rate = number / each["seconds"] if each["annotations"] else None
        yield {**about, "measure": "size", "step": each["step"], "wall_minutes": each["seconds"] / 60,
               "posts_per_second": rate, "annotations": each["annotations"]}  # fmt: skip
    yield {**about, "measure": "size", "step": "all", "wall_minutes": done.seconds / 60,
           "posts_per_second": number / done.seconds, "annotations": sum(each["annotations"] for each in told),
           "cpu_minutes": done.cpu_seconds / 60, "peak_mib": done.peak_mib, "load": os.getloadavg()[0],
           "annotations_mib": _mib(crawl / ANNOTATIONS), "index_mib": _mib(crawl / "indexes")}  # fmt: skip


def _mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / (1 << 20)


def kill_row(folder: Path, number: int, kills: int, processes: int, seed: int = 1) -> Row:
    """Enrich a crawl, killed at so many random moments; compare the result with that of an undisturbed run."""
    killed, whole = folder / "killed", folder / "whole"
    for crawl in (killed, whole):
        write_crawl(crawl, posts(number))
    began = time.monotonic()
    subprocess.run(_command(whole, processes, models=True), check=True, stdout=subprocess.DEVNULL)
    lasts, rng, done = time.monotonic() - began, Random(seed), 0
    while done < kills:
        process = subprocess.Popen(
            _command(killed, processes, models=True), stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(rng.uniform(0.1, 1.0) * lasts / 2)
            break  # It has come to its end before it could be killed so often.
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            done += 1
    subprocess.run(_command(killed, processes, models=True), check=True, stdout=subprocess.DEVNULL)
    return {"measure": "kills", "posts": number, "kills": done, "processes": processes,
            "same_annotations": counting_graphs(killed) == counting_graphs(whole),
            "same_index": index_digest(killed) == index_digest(whole),
            "annotations": len(counting_graphs(whole))}  # fmt: skip


def counting_graphs(crawl: Path) -> dict[str, str]:
    """Return digests of the graphs of annotations in force, by name, without the times of annotation."""
    found: dict[str, str] = {}
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        for path in segments(crawl / ANNOTATIONS, NQUADS):
            with open_segment(path) as file:
                members = Members(file)
                while members.end < members.size:
                    begin, text = members.end, members.member()
                    if index.is_shown(f"{ANNOTATIONS}/{path.name}", begin):
                        said = read_annotations(text)
                        what = repr((said.capture, said.annotator, said.version, said.given, said.annotations))
                        found[said.graph] = hashlib.sha256(what.encode("utf-8", "replace")).hexdigest()
    return found


def index_digest(crawl: Path) -> str:
    """Return a digest of the content of the index of a crawl's annotations."""
    digest = hashlib.sha256()
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        rows = index.base.execute(
            "SELECT annotator, capture, version, given, run, object.iri, kind, meant, label, confidence, start, end, "
            "quote, details, name, refines FROM unit LEFT JOIN annotation ON annotation.unit = unit.id "
            "LEFT JOIN object ON object.id = annotation.object WHERE is_shown ORDER BY annotator, capture, name"
        )
        for row in rows:
            digest.update(repr(tuple(row)).encode("utf-8", "replace"))
    return digest.hexdigest()


def main() -> None:
    """Run the requested measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--killed-posts", type=int, default=2_000)
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--without-models", action="store_true", help="Only without models.")
    parser.add_argument("--with-models", action="store_true", help="Only with models.")
    given = parser.parse_args()
    if given.within:
        _enrich(given.within, given.processes, models=not given.without_models)
        return
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="aah-scale-") as folder:
        for models in (False, True) if given.posts else ():
            if not (given.with_models and not models) and not (given.without_models and models):
                rows += size_rows(Path(folder), given.posts, given.processes, models=models)
        if given.kills:
            rows.append(kill_row(Path(folder), given.killed_posts, given.kills, given.processes))
    report(rows, given.json)


if __name__ == "__main__":
    main()
