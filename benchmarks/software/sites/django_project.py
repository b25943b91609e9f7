"""What sites made with Django share: settings in their home, commands, and a server."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created
from waitress import serve as serve_wsgi

FILES = "/static/files/"
"""The address below which attached files are."""
KEYS = "keys.json"

COMMON = """
import pathlib
HOME = pathlib.Path(__file__).parent
ADDRESS = (HOME / "address.txt").read_text()
SECRET_KEY = "a benchmark has no secrets"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
USE_TZ, TIME_ZONE, LANGUAGE_CODE = True, "UTC", "en"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(HOME / "content.sqlite3")}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL, STATIC_ROOT, STATICFILES_DIRS = "/static/", str(HOME / "static"), [("files", str(HOME / "files"))]
MEDIA_URL, MEDIA_ROOT = "/media/", str(HOME / "media")
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGGING = {}
"""


def set_up(home: Path, settings: str) -> None:
    """Write the settings, Python in which ``# common`` stands for what all sites have, and set Django up with them."""
    (home / "files").mkdir(exist_ok=True)
    (home / "site_settings.py").write_text(settings.replace("# common", COMMON), "utf-8")
    sys.path.insert(0, str(home))
    os.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"
    django.setup()
    # What is lost with the power is made again.
    connection_created.connect(_hurry, weak=False)


def _hurry(connection: Any, **_: object) -> None:
    connection.cursor().execute("PRAGMA synchronous = OFF")


def make_database() -> None:
    """Make the tables of all that is installed."""
    call_command("migrate", verbosity=0)


def model(name: str) -> Any:
    """Return the model ``application.Name``."""
    return apps.get_model(name)


def attach(home: Path, name: str) -> None:
    """Put an attached file where it is served."""
    (home / "files" / name).write_text(f"The content of {name}.\n", "utf-8")


def keep_keys(home: Path, keys: Mapping[str, int]) -> None:
    """Note the primary keys of posts by their ids."""
    (home / KEYS).write_text(json.dumps(keys), "utf-8")


def keys(home: Path) -> dict[str, int]:
    """Return the primary keys of posts by their ids."""
    found: dict[str, int] = json.loads((home / KEYS).read_text("utf-8"))
    return found


def serve(port: int) -> None:
    """Serve the site with its static files on loopback until the process is ended."""
    serve_wsgi(StaticFilesHandler(get_wsgi_application()), host="127.0.0.1", port=port, threads=4, _quiet=True)
