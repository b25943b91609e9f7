"""Annotates pictures, sound and film: what files say of themselves, text in pictures, and pictures that look alike."""

import csv
import io
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version as version_of
from importlib.util import find_spec
from statistics import fmean
from typing import Final, Self

from aahcrawler.annotations import SAID_BY, Annotation, Kind
from aahcrawler.jobs import own_processes
from offline.enrichment import recognised_text
from offline.enrichment.annotator import Medium, ObjectText
from offline.enrichment.media_metadata import VERSION, Values, describe, limit, limit_next

LOOK_ALIKE: Final = "urn:aahcrawler:look-alike:"
"""What the IRIs of groups of pictures that look alike begin with."""

MAX_DISTANCE: Final = 7
"""The bits, of 64, in which perceptual hashes differ at most of pictures that look alike."""

_BANDS = 8
"""Parts of a hash: of two that differ in fewer bits than there are parts, one part at least is the same."""
_MAX_COMPARED = 50
_MIN_SIDE = 100
"""Pixels of the shorter side of the smallest picture in which text is looked for."""
_MIN_CONFIDENCE = 50.0
"""Of 100: words that Tesseract is less sure of are left out."""
_OCR_SECONDS = 120.0
_MAX_OCR_TEXT = 20_000


class MediaReader:
    """Reads media in a process of its own, which a file can at worst end: it then says nothing but that."""

    def __init__(self, describe: Callable[[bytes], Values] = describe) -> None:
        self._describe = describe
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, body: bytes) -> Values:
        """Return what ``describe`` says of a file; never raises for what it holds."""
        if self._pool is None:
            self._pool = own_processes(1, limit)
        try:
            return self._pool.submit(_within_limits, self._describe, body).result()
        except BrokenProcessPool:
            self.close()
            return {"trouble": "takes too long, or too much memory"}

    def close(self) -> None:
        """End the process."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


_MAX_LANGUAGES: Final = 4
"""Languages that are looked for in one picture; each takes its time."""
_CODE: Final = 3
"""Letters of the names of models that are languages, as in ISO 639-2."""
_NO_LANGUAGES: Final = frozenset({"osd", "equ"})
"""Models of Tesseract that read no words."""


class Tesseract:
    """Recognises text in pictures by Tesseract, a program of the PATH or that of the package tesserocr.

    ``command`` is what starts it, ``version`` what it is; ``languages`` are names of its models, such as ``eng+deu``.
    """

    def __init__(self, command: Sequence[str], version: str, languages: str = "eng") -> None:
        self._command = [*command]
        self.version = f"{version}, {languages}"

    @classmethod
    def installed(cls) -> "Tesseract | None":
        """Return that of the PATH, else that of a package, with the models that it has; None where there is none."""
        program = shutil.which("tesseract")
        if program is not None:
            languages = _languages(_said(program, "--list-langs").splitlines()[1:])
            version = " ".join(_said(program, "--version").splitlines()[:1])
            return cls([program, "stdin", "stdout", "-l", languages, "tsv"], version, languages) if languages else None
        languages = _languages(path.stem for path in recognised_text.MODELS.glob("*.traineddata"))
        if not languages or find_spec("tesserocr") is None:
            return None
        command = [sys.executable, "-m", recognised_text.__name__, languages]
        return cls(command, f"tesserocr {version_of('tesserocr')}", languages)

    def text(self, body: bytes) -> tuple[str, float]:
        """Return the words of a picture, line by line, and how sure Tesseract is of them, from 0 to 1."""
        try:
            done = subprocess.run(self._command, input=body, capture_output=True, timeout=_OCR_SECONDS, check=True)
        except (subprocess.SubprocessError, OSError):
            return "", 0.0
        return _recognised(done.stdout.decode("utf-8", "replace"))


def _said(program: str, option: str) -> str:
    done = subprocess.run([program, option], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout or done.stderr


def _languages(models: Iterable[str]) -> str:
    """Return the first of some models of languages, English before others, as Tesseract takes them."""
    named = sorted(
        (name for name in map(str.strip, models) if len(name) == _CODE), key=lambda name: (name != "eng", name)
    )
    return "+".join([name for name in named if name not in _NO_LANGUAGES][:_MAX_LANGUAGES])


class Media:
    """Annotates one medium after the other, each as a whole; text in pictures is an annotation of its own.

    What is recognised has ``source``, ``text recognised in the picture``, and ``recognised-by`` among its values: it is
    a machine's reading, not a text of the page. Coordinates are those that the file names, with ``source-of-position``.
    """

    name = "media"

    def __init__(self, read: Callable[[bytes], Values], tesseract: Tesseract | None = None) -> None:
        self._read = read
        self._tesseract = tesseract
        self.version = "; ".join(["2", VERSION, *([tesseract.version] if tesseract else [])])
        self._reader: MediaReader | None = None

    @classmethod
    def of_files(cls) -> Self:
        """Return one that reads files of whatever origin, and the text in pictures where Tesseract is installed."""
        reader = MediaReader()
        made = cls(reader.read, Tesseract.installed())
        made._reader = reader
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.close()

    def told(self, _: Mapping[str, int]) -> Iterator[str]:
        """Say where text in pictures is not read."""
        if self._tesseract is None:
            yield "text in pictures: not read; install the program tesseract, or the extra `ocr`"

    def annotate(self, given: Medium) -> Iterator[Annotation]:
        """Annotate a medium; nothing where its bytes are none that are read."""
        found = self._read(given.body)
        if "medium" not in found:
            return
        told = found | ({"caption": given.caption} if given.caption else {})
        told |= {"source-of-position": "the file"} if "latitude" in found else {}
        told |= {SAID_BY: given.said_by} if given.said_by else {}
        told |= {"url": given.url} | ({"captured": given.captured} if given.captured else {})
        yield self._annotation(given, given.caption or given.url.rpartition("/")[2], given.caption, told)
        sides = [int(found.get(side, "0")) for side in ("width", "height")]
        if self._tesseract is None or min(sides) < _MIN_SIDE or "trouble" in found:
            return
        text, confidence = self._tesseract.text(given.body)
        if text:
            marked = {"source": "text recognised in the picture", "recognised-by": self._tesseract.version}
            yield self._annotation(given, text[:120], text, marked, confidence)

    def _annotation(
        self, given: Medium, label: str, quote: str, values: Mapping[str, str], confidence: float = 1.0
    ) -> Annotation:
        return Annotation(
            given.object,
            given.capture,
            Kind.MEDIUM,
            " ".join(label.split()),
            self.name,
            self.version,
            confidence,
            quote=quote,
            values=tuple(sorted(values.items())),
        )


class LookAlikes:
    """Groups pictures by their perceptual hashes; a picture that looks like no other one gets nothing.

    A picture belongs to the first group, in the order of their first pictures, whose first picture differs from it in
    at most ``MAX_DISTANCE`` bits. The IRI of a group is that of its first picture, by object and capture.
    """

    name = "look-alikes"
    version = f"1; {VERSION}"

    def annotate(
        self, _objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Annotate each picture of a group with its ``distance`` in bits from the first one."""
        pictures = sorted(
            (each.object, each.capture, int(value, 16), each.label)
            for each in known()
            if each.kind == Kind.MEDIUM and (value := dict(each.values).get("hash"))
        )
        groups: dict[tuple[str, str], list[tuple[str, str, int, str]]] = {}
        leading: dict[tuple[int, int], list[tuple[str, str, int]]] = defaultdict(list)
        for iri, capture, bits, label in pictures:
            near = (lead for band in _bands(bits) for lead in leading[band] if _distance(lead[2], bits) <= MAX_DISTANCE)
            first = min(near, default=(iri, capture, bits))
            groups.setdefault(first[:2], []).append((iri, capture, _distance(first[2], bits), label))
            if first == (iri, capture, bits):
                for band in _bands(bits):
                    if len(leading[band]) < _MAX_COMPARED:
                        leading[band].append(first)
        for (iri, capture), members in groups.items():
            if len(members) > 1:
                yield from self._annotations(
                    f"{LOOK_ALIKE}{sha256(f'{iri} {capture}'.encode()).hexdigest()[:20]}", members
                )

    def _annotations(self, group: str, members: Iterable[tuple[str, str, int, str]]) -> Iterator[Annotation]:
        for iri, capture, distance, label in members:
            values = (("distance", str(distance)),)
            alike = 1 - distance / 64
            yield Annotation(
                iri, capture, Kind.MEDIUM, label, self.name, self.version, round(alike, 4), group, values=values
            )


def _within_limits(describe: Callable[[bytes], Values], body: bytes) -> Values:
    limit_next()
    return describe(body)


def _bands(bits: int) -> Iterator[tuple[int, int]]:
    return ((band, bits >> (8 * band) & 0xFF) for band in range(_BANDS))


def _distance(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def _recognised(table: str) -> tuple[str, float]:
    """Return text and confidence of the table of words that Tesseract writes, one word a row."""
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    confidences: list[float] = []
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        word = (row.get("text") or "").strip()
        confidence = -1.0
        with suppress(ValueError):
            confidence = float(row.get("conf") or "-1")
        if word and confidence >= _MIN_CONFIDENCE:
            lines[tuple(row.get(name) or "" for name in ("page_num", "block_num", "par_num", "line_num"))].append(word)
            confidences.append(confidence)
    text = "\n".join(" ".join(words) for words in lines.values())
    return text[:_MAX_OCR_TEXT], round(fmean(confidences) / 100, 4) if confidences else 0.0
