"""What the bytes of pictures, sound and film say of themselves; runs where a hostile file can do no harm.

Only formats whose decoders take bytes alone are opened (no PostScript, which Pillow hands to another program). Files
are bounded in bytes, pictures in pixels before any is decoded.
"""

import math
import resource
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from io import BytesIO
from typing import Final

import imagehash
from PIL import ExifTags, Image, ImageOps, ImageStat
from tinytag import TinyTag, TinyTagException

VERSION: Final = "; ".join(f"{name} {version(name)}" for name in ("pillow", "imagehash", "tinytag"))
"""What annotations depend on that are made of media."""

MAX_BYTES: Final = 100_000_000
MAX_PIXELS: Final = 100_000_000
"""Pixels of the largest picture that is decoded; what is larger keeps its dimensions, without a hash."""
MAX_CPU_SECONDS: Final = 20
"""Processor time that one file may take; it ends the process."""
MAX_MEMORY: Final = 2 << 30
"""Bytes of address space of the process."""

Image.init()
_FORMATS = tuple(
    name for name in ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "TIFF", "WEBP") if name in Image.OPEN
)
_MAX_TEXT = 300
_FLAT = 2.0
"""The standard deviation of brightness, of 255, below which a picture has no features to compare: an empty page."""
_TAGS = ("title", "artist", "album", "year", "comment")

Values = dict[str, str]


def limit() -> None:
    """Bound the memory of this process; to be called once, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def limit_next() -> None:
    """Bound the processor time that this process may take for its next file."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime) + MAX_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def describe(body: bytes) -> Values:
    """Return what a file says of itself; ``trouble`` where it cannot be read, and no error whatever it holds.

    Of pictures: ``medium`` (``picture``), ``format``, ``width`` and ``height`` in pixels, ``frames`` where there are
    several, ``hash`` (the perceptual hash of 64 bits in hexadecimal digits), and of EXIF ``taken`` (ISO 8601, without
    an offset where the camera wrote none), ``camera``, ``latitude`` and ``longitude`` (degrees), ``description`` and
    ``copyright``. Of sound and film: ``medium`` (``recording``), ``duration`` in seconds, ``bit-rate`` in kbit/s,
    ``sample-rate`` in Hz, ``channels``, and the tags of the file.
    """
    if len(body) > MAX_BYTES:
        return {"trouble": f"more than {MAX_BYTES:,} bytes"}
    try:
        found = _picture(body)
        return _recording(body) if found is None else found
    except (Exception, MemoryError, RecursionError) as error:  # Decoders raise whatever a broken file leads them to.
        return {"trouble": type(error).__name__}


def _picture(body: bytes) -> Values | None:
    """Return what a picture says, None where the file is none that is read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of broken EXIF, and of sizes, which are bounded below.
        try:
            picture = Image.open(BytesIO(body), formats=_FORMATS)
        except Image.DecompressionBombError:
            return {"medium": "picture", "trouble": "too many pixels"}
        except (OSError, SyntaxError, ValueError):
            return None
        with picture:
            width, height = picture.size
            found = {
                "medium": "picture",
                "format": (picture.format or "").lower(),
                "width": str(width),
                "height": str(height),
            }
            frames = getattr(picture, "n_frames", 1)
            found |= {"frames": str(frames)} if frames > 1 else {}
            with suppress(Exception):
                found |= _exif(picture.getexif())
            if width * height > MAX_PIXELS:
                return found | {"trouble": "too many pixels to be decoded"}
            try:
                found |= _hash(picture)
            except (Exception, MemoryError) as error:  # What the head of a broken file says is kept.
                found["trouble"] = type(error).__name__
            return found


def _hash(picture: Image.Image) -> Values:
    """Return the perceptual hash of a picture as it is meant to be seen, nothing where it is all of one brightness."""
    picture.draft("L", (256, 256))
    upright = ImageOps.exif_transpose(picture)
    if upright.mode in ("RGBA", "LA", "PA", "P"):
        shown = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown)
    grey = upright.convert("L").resize((64, 64), Image.Resampling.LANCZOS)
    if ImageStat.Stat(grey).stddev[0] < _FLAT:
        return {}
    return {"hash": str(imagehash.phash(grey))}


def in_small_within_limits(body: bytes, side: int) -> bytes:
    """Do the same as ``in_small`` in a process of its own, whose time this bounds."""
    limit_next()
    return in_small(body, side)


def in_small(body: bytes, side: int) -> bytes:
    """Return a picture as a JPEG whose longer side has so many pixels at most, without anything else of its file.

    Empty where it cannot be decoded, or has too many pixels. Nothing of the file but its colours comes out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(body), formats=_FORMATS) as picture:
                if picture.width * picture.height > MAX_PIXELS or len(body) > MAX_BYTES:
                    return b""
                picture.draft("RGB", (side, side))
                picture.thumbnail((2 * side, 2 * side))  # Before it is turned, which takes as much memory again.
                upright = ImageOps.exif_transpose(picture).convert("RGBA")
                upright.thumbnail((side, side))
                made, ground = BytesIO(), Image.new("RGBA", upright.size, "white")
                Image.alpha_composite(ground, upright).convert("RGB").save(made, "JPEG", quality=82)
                return made.getvalue()
    except (Exception, MemoryError, RecursionError):  # Decoders raise whatever a broken file leads them to.
        return b""


def _exif(exif: Image.Exif) -> Values:
    details = exif.get_ifd(ExifTags.IFD.Exif)
    found = dict(_position(exif.get_ifd(ExifTags.IFD.GPSInfo)))
    taken = _moment(details.get(ExifTags.Base.DateTimeOriginal), details.get(ExifTags.Base.OffsetTimeOriginal))
    camera = " ".join(filter(None, (_plain(exif.get(tag)) for tag in (ExifTags.Base.Make, ExifTags.Base.Model))))
    found |= {
        "taken": taken,
        "camera": camera,
        "description": _plain(exif.get(ExifTags.Base.ImageDescription)),
        "copyright": _plain(exif.get(ExifTags.Base.Copyright)),
    }
    return {name: value for name, value in found.items() if value}


def _moment(written: object, offset: object) -> str:
    """Return a moment that EXIF writes, ``2019:03:14 10:20:30``, empty where it is no date, such as all zeros."""
    try:
        moment = datetime.strptime(str(written).strip("\0 "), "%Y:%m:%d %H:%M:%S").isoformat()  # noqa: DTZ007
    except ValueError:
        return ""
    with_offset = f"{moment}{str(offset).strip()}"
    try:
        return datetime.fromisoformat(with_offset).isoformat()
    except ValueError:
        return moment


def _position(gps: Mapping[int, object]) -> Iterator[tuple[str, str]]:
    """Yield latitude and longitude where both are written whole and lie on the earth."""
    latitude = _degrees(gps.get(ExifTags.GPS.GPSLatitude), gps.get(ExifTags.GPS.GPSLatitudeRef), "NS", 90)
    longitude = _degrees(gps.get(ExifTags.GPS.GPSLongitude), gps.get(ExifTags.GPS.GPSLongitudeRef), "EW", 180)
    if latitude is not None and longitude is not None:
        yield "latitude", f"{latitude:.6f}"
        yield "longitude", f"{longitude:.6f}"


def _degrees(written: object, side: object, sides: str, most: float) -> float | None:
    if not isinstance(written, tuple) or len(written) != 3 or str(side).strip("\0 ") not in tuple(sides):
        return None
    degrees, minutes, seconds = (float(each) for each in written)
    found = degrees + minutes / 60 + seconds / 3600
    if not (math.isfinite(found) and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= found <= most):
        return None
    return -found if str(side).strip("\0 ") == sides[1] else found


def _recording(body: bytes) -> Values:
    try:
        tag = TinyTag.get(None, file_obj=BytesIO(body))
    except TinyTagException:
        return {"trouble": "no picture, sound or film that is read"}
    numbers = {
        "duration": f"{tag.duration:.1f}" if tag.duration else "",
        "bit-rate": f"{tag.bitrate:.0f}" if tag.bitrate else "",
        "sample-rate": str(tag.samplerate or ""),
        "channels": str(tag.channels or ""),
    }
    tags = {name: _plain(getattr(tag, name)) for name in _TAGS}
    found = {name: value for name, value in {**numbers, **tags}.items() if value}
    return {"medium": "recording", **found} if found else {"trouble": "no picture, sound or film that is read"}


def _plain(text: object) -> str:
    """Return text of a file on one line, without characters that steer, bounded."""
    if not isinstance(text, str):
        return ""
    spaced = "".join(each if each.isprintable() else " " for each in text[: 10 * _MAX_TEXT])
    return " ".join(spaced.split())[:_MAX_TEXT]
