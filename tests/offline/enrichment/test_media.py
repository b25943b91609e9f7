import io
import os
import wave
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from PIL import ExifTags, Image, ImageDraw, ImageFont

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import Medium
from offline.enrichment.media import LookAlikes, Media, MediaReader, Tesseract
from offline.enrichment.media_metadata import MAX_PIXELS, describe

MEDIUM = Medium("urn:o", "urn:c", "https://a.test/mill.jpg", b"", "The mill in spring")


def drawn(seed: int = 1, size: tuple[int, int] = (320, 200)) -> Image.Image:
    """Return a picture of some rectangles by lot."""
    rng, picture = Random(seed), Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for _ in range(12):
        left, top = rng.randrange(size[0]), rng.randrange(size[1])
        shade = tuple(rng.randrange(256) for _ in range(3))
        pen.rectangle((left, top, left + rng.randrange(20, 160), top + rng.randrange(20, 100)), fill=shade)
    return picture


def saved(picture: Image.Image, format: str = "JPEG", **others: object) -> bytes:  # noqa: A002
    file = io.BytesIO()
    picture.save(file, format, **others)
    return file.getvalue()


def with_exif(tags: Mapping[int, object], details: Mapping[int, object], gps: Mapping[int, object]) -> bytes:
    exif = Image.Exif()
    exif.update(tags)
    exif.get_ifd(ExifTags.IFD.Exif).update(details)
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(gps)
    return saved(drawn(), exif=exif)


EXIF: tuple[Mapping[int, object], Mapping[int, object], Mapping[int, object]] = (
    {ExifTags.Base.Make: "Lumen", ExifTags.Base.Model: "L 3", ExifTags.Base.Copyright: "A. Bell\0"},
    {ExifTags.Base.DateTimeOriginal: "2019:03:14 10:20:30", ExifTags.Base.OffsetTimeOriginal: "+01:00"},
    {
        ExifTags.GPS.GPSLatitude: (51.0, 30.0, 36.0),
        ExifTags.GPS.GPSLatitudeRef: "N",
        ExifTags.GPS.GPSLongitude: (0.0, 7.0, 30.0),
        ExifTags.GPS.GPSLongitudeRef: "W",
    },
)


def sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(8_000)
        written.writeframes(bytes(2 * 8_000 * 3))
    return file.getvalue()


def test_a_picture_says_its_size_and_what_its_camera_wrote() -> None:
    found = describe(with_exif(*EXIF))
    assert len(found.pop("hash")) == 16
    assert found == {
        "medium": "picture",
        "format": "jpeg",
        "width": "320",
        "height": "200",
        "taken": "2019-03-14T10:20:30+01:00",
        "camera": "Lumen L 3",
        "copyright": "A. Bell",
        "latitude": "51.510000",
        "longitude": "-0.125000",
    }


@pytest.mark.parametrize(
    ("details", "gps"),
    [
        ({ExifTags.Base.DateTimeOriginal: "0000:00:00 00:00:00"}, {ExifTags.GPS.GPSLatitude: (1.0, 2.0, 3.0)}),
        ({ExifTags.Base.DateTimeOriginal: "spring"}, {**EXIF[2], ExifTags.GPS.GPSLatitude: (91.0, 0.0, 0.0)}),
        ({}, {**EXIF[2], ExifTags.GPS.GPSLatitude: (10.0, 61.0, 0.0)}),
        ({}, {**EXIF[2], ExifTags.GPS.GPSLongitudeRef: "X"}),
    ],
)
def test_what_a_camera_left_unset_is_not_said(details: Mapping[int, object], gps: Mapping[int, object]) -> None:
    assert not {"taken", "latitude", "longitude"} & set(describe(with_exif({}, details, gps)))


def test_sound_says_how_long_it_is() -> None:
    found = describe(sound())
    assert found["medium"] == "recording"
    assert float(found["duration"]) == pytest.approx(3.0, abs=0.1)
    assert (found["channels"], found["sample-rate"]) == ("1", "8000")


def test_an_animation_tells_its_frames_and_a_flat_picture_has_no_hash() -> None:
    frames = [drawn(seed) for seed in (1, 2, 3)]
    assert describe(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))["frames"] == "3"
    assert "hash" not in describe(saved(Image.new("RGB", (300, 300), "white"), "PNG"))


def test_a_bomb_is_not_decoded() -> None:
    body = bytearray(saved(Image.new("1", (64, 64)), "PNG"))
    assert MAX_PIXELS < 20_000 * 20_000
    body[16:24] = (20_000).to_bytes(4) + (20_000).to_bytes(4)
    found = describe(bytes(body))
    assert "trouble" in found
    assert "hash" not in found


@pytest.mark.parametrize("body", [b"", b"no picture", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"<svg/>", b"RIFF0000WAVEfmt "])
def test_other_files_say_nothing(body: bytes) -> None:
    assert "medium" not in describe(body)
    assert list(Media(describe).annotate(replace(MEDIUM, body=body))) == []


def test_what_is_cut_off_or_changed_raises_nothing() -> None:
    whole, rng = with_exif(*EXIF), Random(4)
    assert describe(whole[:2_000])["width"] == "320"
    for _ in range(60):
        broken = bytearray(whole[: rng.randrange(len(whole))])
        for _ in range(5):
            broken[rng.randrange(len(broken))] = rng.randrange(256) if broken else 0
        describe(bytes(broken))


def test_a_medium_is_annotated_with_its_caption_and_the_source_of_its_place() -> None:
    (found,) = Media(describe).annotate(replace(MEDIUM, body=with_exif(*EXIF)))
    values = dict(found.values)
    assert (found.kind, found.label, found.quote) == (Kind.MEDIUM, "The mill in spring", "The mill in spring")
    assert values["source-of-position"] == "the file"
    assert list(values) == sorted(values)
    (bare,) = Media(describe).annotate(replace(MEDIUM, body=sound(), caption=""))
    assert (bare.label, bare.quote) == ("mill.jpg", "")


def pictures(**bodies: bytes) -> list[Annotation]:
    media = Media(describe)
    return [each for name, body in bodies.items() for each in media.annotate(Medium(name, "urn:c", name, body))]


def test_pictures_that_look_alike_have_one_iri_in_whichever_order_they_come() -> None:
    one = drawn(1)
    known = pictures(
        a=saved(one), b=saved(one.resize((160, 100)), quality=40), c=saved(one, "PNG"), d=saved(drawn(2)), e=sound()
    )
    found = list(LookAlikes().annotate(lambda: iter(()), lambda: iter(known)))
    assert [each.object for each in found] == ["a", "b", "c"]
    assert len({each.iri for each in found}) == 1
    assert list(LookAlikes().annotate(lambda: iter(()), lambda: reversed(known))) == found


@pytest.mark.starts
def test_text_in_a_picture_is_marked_as_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [f"5\t1\t1\t1\t{line}\t1\t0\t0\t9\t9\t{sure}\t{word}" for line, sure, word in
            ((1, 96, "Mill"), (1, 90, "Lane"), (2, 20, "~~"), (2, 84, '"1901"'))]  # fmt: skip
    (tmp_path / "table").write_text("\n".join((head, *rows)) + "\n", "utf-8")
    program.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo tesseract 5.3.0 && exit\n"
        '[ $1 = --list-langs ] && printf "List of languages:\\nosd\\nfra\\neng\\n" && exit\n'
        f"cat >/dev/null\ncat {tmp_path}/table\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    tesseract = Tesseract.installed()
    assert tesseract is not None
    media = Media(describe, tesseract)
    assert "tesseract 5.3.0, eng+fra" in media.version
    _, text = media.annotate(replace(MEDIUM, body=saved(drawn())))
    assert text.quote == 'Mill Lane\n"1901"'
    assert text.confidence == 0.9
    assert dict(text.values)["source"] == "text recognised in the picture"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert len(list(media.annotate(replace(MEDIUM, body=saved(drawn()))))) == 1


@pytest.mark.starts
@pytest.mark.skipif(find_spec("tesserocr") is None, reason="the extra `ocr` is not installed")
def test_text_is_recognised_by_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    tesseract = Tesseract.installed()
    assert tesseract is not None
    picture = Image.new("RGB", (700, 120), "white")
    ImageDraw.Draw(picture).text((20, 30), "The dike broke at night", fill="black", font=ImageFont.load_default(40))
    text, confidence = tesseract.text(saved(picture))
    assert text == "The dike broke at night"
    assert confidence > 0.8
    assert tesseract.text(b"no picture") == ("", 0.0)


def ending(body: bytes) -> dict[str, str]:
    """End the process that reads a file, as one does that takes too much."""
    if body == b"hostile":
        os._exit(1)
    return describe(body)


@pytest.mark.slow
@pytest.mark.starts
def test_a_file_that_ends_the_reading_process_costs_no_other_file() -> None:
    with MediaReader(ending) as reader:
        assert reader.read(b"hostile") == {"trouble": "takes too long, or too much memory"}
        assert reader.read(saved(drawn()))["width"] == "320"
