import subprocess
import sys

import pytest

CODE = """
import ctypes, sys, threading
from aahcrawler.crawl.health.disk_space import share_one_arena
if sys.argv[1] == "shared":
    share_one_arena()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
places = []
def take():
    places.append(libc.malloc(50_000))
for each in [threading.Thread(target=take)]:
    each.start()
    each.join()
start, end = next(
    (int(part, 16) for part in line.split()[0].split("-")) for line in open("/proc/self/maps") if "[heap]" in line
)
print(start <= places[0] < end)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has arenas")
def test_threads_take_memory_from_where_all_others_do() -> None:
    found = [
        subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True, check=True).stdout.strip()
        for how in ("shared", "apart")
    ]
    assert found == ["True", "False"]
