"""Start a browser with a page that never rests, say which processes that makes, and wait to be killed."""

import asyncio
import json
import os
import sys
from pathlib import Path

from aahcrawler.browser.process.process_tree import descendants
from tests.browser.process.piped import Proxy, browser


async def _run(folder: Path) -> None:
    async with browser(folder) as piped:
        Proxy(piped.process)
        session = await piped.page("http://localhost/", piped.process.listeners[0])
        await piped.value(session, "setTimeout(() => { for (;;); })")
        print(json.dumps(descendants(os.getpid())), flush=True)
        await piped.process.ended()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
