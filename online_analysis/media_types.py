"""Derives the media type of a response from the file name extension of its URL."""

from typing import Final
from urllib.parse import unquote

_NAMES: Final = {
    "application/epub+zip": "epub",
    "application/gzip": "gz tgz",
    "application/java-archive": "jar",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps eps",
    "application/rtf": "rtf",
    "application/vnd.android.package-archive": "apk",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.rar": "rar",
    "application/x-7z-compressed": "7z",
    "application/x-bzip2": "bz2",
    "application/x-debian-package": "deb",
    "application/x-iso9660-image": "iso",
    "application/x-msdownload": "exe msi dll",
    "application/x-tar": "tar",
    "application/x-xz": "xz",
    "application/zip": "zip",
    "audio/flac": "flac",
    "audio/midi": "mid midi",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg oga opus",
    "audio/wav": "wav",
    "font/otf": "otf",
    "font/ttf": "ttf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jpeg": "jpg jpeg jpe",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif tiff",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "text/css": "css",
    "video/mp4": "mp4 m4v",
    "video/mpeg": "mpg mpeg",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/x-matroska": "mkv",
    "video/x-ms-wmv": "wmv",
    "video/x-msvideo": "avi",
}
_TYPES: Final = {ending: media_type for media_type, endings in _NAMES.items() for ending in endings.split()}


def type_by_url(url: str) -> str | None:
    """Return the media type of a URL's file name extension, None where it is not certain.

    Programs and pages may have any extension, so only those of files are known. A name with a colon is the title of a
    wiki's page about a file.

    >>> type_by_url("http://a.test/files/report.PDF?download=1")
    'application/pdf'
    >>> type_by_url("http://a.test/wiki/File:Tower.jpg"), type_by_url("http://a.test/show.php?name=a.pdf")
    (None, None)
    """
    rest = url.partition("://")[2].partition("#")[0].partition("?")[0]
    if "/" not in rest:
        return None
    name = rest.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if not stem or not dot or len(ending) > 5 or ":" in unquote(stem):
        return None
    return _TYPES.get(ending.lower())
