"""What a command used is counted with all of its processes, whoever their parents are."""

import os
import signal
import subprocess
import sys

from benchmarks.process_memory import Watch, run
from tests.crawl.crawling import until

BUSY = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 1: pass"])
"""
LEAVING = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
time.sleep(1)
"""


def test_all_processes_of_a_command_are_measured() -> None:
    used = run([sys.executable, "-c", BUSY], os.environ, 120)
    assert used.code == 0
    assert 1.0 <= used.cpu_seconds < 60
    assert used.peak_mib > 1


def test_a_process_that_was_seen_is_known_until_it_ends() -> None:
    started = subprocess.Popen([sys.executable, "-c", LEAVING])
    watch = Watch(started.pid)
    while started.poll() is None:
        watch.sample()
    alive = watch.alive()
    for pid, _ in alive:
        os.kill(pid, signal.SIGKILL)

    assert len(alive) == 1
    until(lambda: not watch.alive())
