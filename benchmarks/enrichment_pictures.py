"""Pictures of which is known what was written into their files, and which show the same: scaled, saved anew, cut."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from PIL import ExifTags, Image, ImageDraw, ImageFilter

from offline.enrichment.annotator import Medium

SIZE = (480, 320)


@dataclass(frozen=True, slots=True)
class PlantedPicture:
    """A picture with the number of the one that it shows, and what its file says, as annotations are to say it."""

    medium: Medium
    shows: int
    said: tuple[tuple[str, str], ...]


def pictures(seed: int, number: int) -> Iterator[PlantedPicture]:
    """Yield pictures of so many scenes, each once or up to four times; the same for the same seed."""
    rng = Random(f"pictures-{seed}")
    for scene in range(number):
        drawn = _scene(rng)
        for copy in range(rng.choice((1, 1, 2, 4))):
            url = f"https://gallery{copy}.test/{scene}.jpg"
            body, said = _saved(_changed(drawn, rng) if copy else drawn, rng)
            yield PlantedPicture(Medium(url, f"urn:uuid:{scene}-{copy}", url, body), scene, tuple(sorted(said.items())))


def _scene(rng: Random) -> Image.Image:
    """Return something like a photograph: soft shapes on a ground that grows lighter."""
    dark, light = sorted((rng.randrange(256), rng.randrange(256)))
    picture = (
        Image.linear_gradient("L").resize(SIZE).point([dark + (light - dark) * each // 255 for each in range(256)])
    )
    if rng.random() < 0.5:
        picture = picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    pen = ImageDraw.Draw(picture)
    for _ in range(rng.randint(4, 14)):
        left, top = rng.randrange(-40, SIZE[0]), rng.randrange(-40, SIZE[1])
        box = (left, top, left + rng.randrange(30, 260), top + rng.randrange(30, 200))
        (pen.ellipse if rng.random() < 0.5 else pen.rectangle)(box, fill=rng.randrange(256))
    return picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3))).convert("RGB")


def _changed(picture: Image.Image, rng: Random) -> Image.Image:
    """Return the picture as another site shows it: smaller or larger, brighter, or with a little cut off."""
    scale = rng.uniform(0.3, 1.6)
    changed = picture.resize((int(SIZE[0] * scale), int(SIZE[1] * scale)))
    if rng.random() < 0.3:
        by = rng.uniform(0.8, 1.2)
        changed = changed.point([min(255, int(each * by)) for each in range(256)] * 3)
    if rng.random() < 0.3:
        edge = max(1, changed.width // 50)
        changed = changed.crop((edge, edge, changed.width - edge, changed.height - edge))
    return changed


def _saved(picture: Image.Image, rng: Random) -> tuple[bytes, dict[str, str]]:
    said = {"width": str(picture.width), "height": str(picture.height)}
    exif = Image.Exif()
    if rng.random() < 0.5:
        day, hour = rng.randint(1, 28), rng.randrange(24)
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"2016:05:{day:02} {hour:02}:15:00"
        said["taken"] = f"2016-05-{day:02}T{hour:02}:15:00"
    if rng.random() < 0.3:
        degrees, minutes = rng.randrange(80), rng.randrange(60)
        position: dict[int, object] = {
            ExifTags.GPS.GPSLatitude: (float(degrees), float(minutes), 0.0),
            ExifTags.GPS.GPSLatitudeRef: "S",
            ExifTags.GPS.GPSLongitude: (float(degrees), float(minutes), 0.0),
            ExifTags.GPS.GPSLongitudeRef: "E",
        }
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(position)
        said |= {"latitude": f"{-degrees - minutes / 60:.6f}", "longitude": f"{degrees + minutes / 60:.6f}"}
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=rng.randint(40, 95), exif=exif)
    return file.getvalue(), said
