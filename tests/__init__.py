"""Tests, and what holds for the environment of their processes.

Where it forbids bytecode, each of them would compile the whole project anew. This is run before anything that pytest
compiles its own way, which nothing but it would keep: all of Hypothesis, for one. Tests speak with this machine alone;
to read the certificates of the system's authorities takes longer than most of their exchanges.
"""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["SSL_CERT_FILE"] = os.environ["SSL_CERT_DIR"] = os.devnull
