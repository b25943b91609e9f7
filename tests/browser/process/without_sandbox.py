"""Try to start a browser where nobody can make user namespaces, and print what is said of it."""

import asyncio
import os
import sys
from pathlib import Path

from aahcrawler.browser.process import launcher
from aahcrawler.browser.process.chromium_executable import BrowserUnavailableError
from tests.browser.process.piped import browser

_ALL = "0 0 100000"


def _leave_user_namespace() -> None:
    """Enter a namespace where further ones can be forbidden. Who is root needs another to map all accounts for it."""
    if os.geteuid() != 0:
        launcher.enter_network_namespace()
        return
    ready, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        launcher._call("unshare", launcher._CLONE_NEWUSER)
        os.write(ready[1], b".")
        os.read(mapped[0], 1)
        return
    os.read(ready[0], 1)
    Path(f"/proc/{child}/uid_map").write_text(_ALL)
    Path(f"/proc/{child}/gid_map").write_text(_ALL)
    os.write(mapped[1], b".")
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


async def _try(folder: Path) -> None:
    try:
        async with browser(folder):
            print("It runs.")
    except BrowserUnavailableError as error:
        print(error)


if __name__ == "__main__":
    _leave_user_namespace()
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    asyncio.run(_try(Path(sys.argv[1])))
