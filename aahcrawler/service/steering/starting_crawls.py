"""Create and start crawls, and ask them to end."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from aahcrawler.crawls import Started, running_process
from aahcrawler.definition_bundle import unpack_definition
from aahcrawler.frontier.registry import CrawlState, Definition
from aahcrawler.layout import CREATED
from aahcrawler.segments import private
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.crawl_process import Launched, Processes, failure
from aahcrawler.service.steering.held_definitions import (
    HeldDefinitions,
    definition_file,
    refuse_machine_fields,
    refuse_widening,
    refused,
    registry_of,
    unread,
)
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_DEFINITION, CONFLICT, ProblemError, Shown
from aahcrawler.service.web.roles import Caller
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited

MAX_WORKERS: Final = 16
_MAX_STEM_LENGTH: Final = 56
"""Characters of an id that a number is added to; an id has at most 64."""


class Ending(Shown):
    """What was asked to end a crawl: the process on this machine, or the workers of a shared server.

    ``asked`` is false where it had been asked before.
    """

    asked: bool
    pid: int | None
    detail: str


class Starting(Shown):
    """A crawl that was started. ``lines`` is what its process said.

    ``state`` is ``running``, ``starting`` where it was not open yet, ``ended`` where it was over at once, or
    ``submitted`` where workers of a shared server take it up.
    """

    state: str
    pid: int | None
    code: int | None
    lines: tuple[str, ...]
    detail: str


class Created(Shown):
    """A crawl that was created, and how it was started where that was asked for."""

    id: str
    title: str
    started: Starting | None
    detail: str


def stop(reach: CrawlRegistry, processes: Processes, crawl: Crawl, by: str) -> Ending:
    """Ask a crawl to end in good order: what is being fetched is handled, what is leased goes back.

    Raise ``ProblemError`` where it does not run, or cannot be reached from here.
    """
    process = running_process(crawl.folder)
    if crawl.registered == "":
        ending = _end_registered(reach, crawl, by)
    elif process is not None:
        ending = _end_process(processes, crawl, process)
    elif crawl.own_server() is not None:
        raise ProblemError(CONFLICT, f"{crawl.id} runs, and not by a process known here: press Ctrl-C where it runs")
    elif reach.shared is not None and crawl.registered is None:
        raise ProblemError(
            CONFLICT,
            f"{crawl.id} does not run on this machine. Where it runs on another one with the shared server, it was not "
            "submitted there, and cannot be told from here: press Ctrl-C where it runs, or pause it",
        )
    else:
        raise ProblemError(CONFLICT, f"{crawl.id} does not run")
    note(crawl, by, "stop", {}, {"asked": ending.asked, "pid": ending.pid})
    return ending


def start(
    reach: CrawlRegistry,
    definitions: HeldDefinitions,
    processes: Processes,
    crawl: Crawl,
    by: str,
    *,
    accept_changes: bool = False,
    workers: int | None = None,
) -> Starting:
    """Start a crawl as ``aah crawl`` does, or on a shared server have its workers take it up again.

    ``workers`` is the number of processes, None that of the last time. Raise ``ProblemError`` where it runs, where its
    definition has mistakes or is not known here, and in the words of ``aah crawl`` where that began nothing.
    """
    if crawl.is_import:
        raise ProblemError(
            CONFLICT,
            f"{crawl.id} holds imported archives, and no crawl runs there; "
            f"`aah import FILE {crawl.argument}` adds archives to it",
        )
    with processes.starting(crawl.id):
        if (crawl.registered is not None and crawl.folder is None) or _is_submitted(crawl):
            begun = _submit_again(reach, crawl)
        else:
            begun = _launch(reach, definitions, processes, crawl, _options(crawl, workers, accept_changes))
    arguments: dict[str, JsonValue] = {"accept_changes": accept_changes, "workers": workers}
    note(crawl, by, "start", arguments, {"state": begun.state, "pid": begun.pid, "code": begun.code})
    return begun


def create(
    reach: CrawlRegistry, definitions: HeldDefinitions, processes: Processes, caller: Caller, text: str, *, begin: bool
) -> Created:
    """Create a crawl from the text of a definition, and start it where ``begin`` says so.

    It lies in a folder with its id, in the first folder of the service that holds crawls. With a shared server it is
    submitted there, and begins when a worker takes it. Raise ``ProblemError`` with every mistake of the text, and where
    there is a crawl or a folder of this id, or the definition is wider than the caller may have it.
    """
    icd, by = _checked(text), caller.name
    refuse_widening(caller, icd)
    if reach.catalog.crawl(icd.id) is not None:
        raise ProblemError(CONFLICT, f"there is a crawl {icd.id} already: change its definition, or write another id")
    if reach.shared is not None:
        return _submit_new(reach, by, icd, text, begin=begin)
    crawl = establish(reach, caller, NewCrawl(icd, text))
    begun = start(reach, definitions, processes, crawl, by) if begin else None
    return Created(id=icd.id, title=icd.title, started=begun, detail=begun.detail if begun else "it can be started")


@dataclass(frozen=True, slots=True)
class NewCrawl:
    """A crawl to be created: its definition, the text of that, and further files by their paths in its folder."""

    icd: Icd
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)


def establish(reach: CrawlRegistry, caller: Caller, new: NewCrawl) -> Crawl:
    """Create the folder of a crawl, without starting it. Raise ``ProblemError`` if that fails."""
    folder = folder_for(reach, new.icd.id)
    _write_new(folder, _with_output(new.text, folder), new.files)
    crawl = reach.crawl(new.icd.id)
    note(crawl, caller.name, "create", {"title": new.icd.title}, {"folder": folder.name})
    return crawl


def free_id(reach: CrawlRegistry, wanted: str) -> str:
    """Return an id without a crawl or folder in the service: ``wanted``, or ``wanted`` with a number."""
    place = reach.catalog.place_for_new()
    taken = {crawl.id for crawl in reach.crawls()}
    names = chain((wanted,), (f"{wanted[:_MAX_STEM_LENGTH]}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken and (place is None or not (place / name).exists()))


def _checked(text: str) -> Icd:
    """Return what a text defines, which reads no file of this machine. Raise ``ProblemError`` with every mistake."""
    try:
        refuse_machine_fields(unread(text))
        icd = unpack_definition(Definition(text.encode("utf-8", "surrogatepass")), Path())
    except IcdError as error:
        raise refused(error, "the definition has mistakes") from None
    except ValueError as error:
        raise ProblemError(BAD_DEFINITION, str(error)) from None
    refuse_machine_fields(icd)
    return icd


def _with_output(text: str, folder: Path) -> str:
    """Return a text with the folder that its crawl writes to. Raise ``ProblemError`` where it cannot be set."""
    try:
        return edited(text, {"output": str(folder)})
    except IcdError as error:
        raise refused(error, "the definition has mistakes") from None


def folder_for(reach: CrawlRegistry, name: str) -> Path:
    """Return the folder for a new crawl. Raise ``ProblemError`` if this service has no place for new crawls."""
    place = reach.catalog.place_for_new()
    if place is None:
        raise ProblemError(
            CONFLICT, "this service was given folders of single crawls; start it with a folder that is to hold several"
        )
    return (place / name).absolute()


def _write_new(folder: Path, text: str, files: Mapping[str, bytes]) -> None:
    """Write files and definition of a new crawl into its folder, which must not exist; the definition comes last."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ProblemError(CONFLICT, f"there is a folder {folder.name} already; write another id") from None
    except OSError as error:
        raise ProblemError(CONFLICT, f"no folder can be made for the crawl: {error.strerror}") from error
    try:
        for name, content in {**files, CREATED: text.encode()}.items():
            (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
            with open(folder / name, "xb", opener=private) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ProblemError(CONFLICT, f"the definition cannot be written: {error.strerror}") from error


def _submit_new(reach: CrawlRegistry, by: str, icd: Icd, text: str, *, begin: bool) -> Created:
    if not begin:
        raise ProblemError(
            CONFLICT, "with a shared server a crawl begins when a worker takes it: create it with start: true"
        )
    with registry_of(reach) as registry:
        if any(each.id == icd.id for each in registry.crawls()):
            raise ProblemError(CONFLICT, f"the shared server knows a crawl {icd.id} already")
        registry.submit(icd.id, Definition(text.encode()), title=icd.title)
    crawl = reach.crawl(icd.id)
    note(crawl, by, "create", {"title": icd.title}, {"submitted": True})
    detail = "it is submitted, and begins when a worker of the shared server takes it"
    begun = Starting(state="submitted", pid=None, code=None, lines=(), detail=detail)
    return Created(id=icd.id, title=icd.title, started=begun, detail=detail)


def _end_registered(reach: CrawlRegistry, crawl: Crawl, by: str) -> Ending:
    with registry_of(reach) as registry:
        asked = registry.end(crawl.id, crawl.number, f"stopped by {by}")
    detail = "all workers of the shared server leave it within some seconds, wherever they are; start it to go on"
    return Ending(asked=asked, pid=None, detail=detail if asked else "it was over already")


def _end_process(processes: Processes, crawl: Crawl, process: Started) -> Ending:
    asked = processes.end(crawl.id, process)
    detail = "it brings to an end what is being fetched, and ends; start it to go on"
    return Ending(asked=asked, pid=process.pid, detail=detail if asked else "it was asked before, and is about to end")


def _is_submitted(crawl: Crawl) -> bool:
    """Return whether a crawl was only ever run by the workers of a shared server."""
    return crawl.registered is not None and definition_file(crawl) is None


def _submit_again(reach: CrawlRegistry, crawl: Crawl) -> Starting:
    """Let workers resume a stopped crawl. A crawl that is over can only be begun anew by ``aah submit``."""
    with registry_of(reach) as registry:
        entry = next((each for each in registry.crawls() if each.id == crawl.id), None)
        if entry is None:
            raise ProblemError(CONFLICT, f"the shared server does not know {crawl.id} any more; submit it again")
        if entry.state is CrawlState.ACTIVE:
            raise ProblemError(CONFLICT, f"{crawl.id} is active: workers of the shared server crawl it")
        if not entry.reason.startswith("stopped by "):
            raise ProblemError(
                CONFLICT,
                f"{crawl.id} is over ({entry.reason}): "
                f"`aah submit {crawl.definition_argument}` begins the next crawl of its definition",
            )
        registry.submit(crawl.id, registry.definition(crawl.id)[1], title=entry.title)
    detail = "workers of the shared server go on with it within some seconds"
    return Starting(state="submitted", pid=None, code=None, lines=(), detail=detail)


def _options(crawl: Crawl, workers: int | None, accept_changes: bool) -> tuple[str, ...]:
    found = definition_file(crawl)
    last = found[1].workers if found is not None and found[1] is not None else 1
    number = min(last if workers is None else workers, MAX_WORKERS)
    return (
        *(("--accept-changes",) if accept_changes else ()),
        *(("--workers", str(number)) if number > 1 else ()),
    )


def _launch(
    reach: CrawlRegistry, definitions: HeldDefinitions, processes: Processes, crawl: Crawl, options: tuple[str, ...]
) -> Starting:
    process = running_process(crawl.folder)
    if process is not None or crawl.own_server() is not None:
        raise ProblemError(CONFLICT, f"{crawl.id} runs already")
    held = definitions.read(crawl)
    if held.file is None or crawl.folder is None:
        raise ProblemError(CONFLICT, f"{crawl.id} is crawled by the workers of a shared server")
    reach.gateway.release(crawl)
    working_folder = held.started.working_folder if held.started is not None else crawl.folder
    launched = processes.launch(crawl.folder, ["crawl", str(held.file), *options], working_folder)
    if (problem := failure(launched)) is not None:
        reach.gateway.lend_again(crawl)
        raise problem
    return _begun(launched)


def _begun(launched: Launched) -> Starting:
    if launched.code is not None:
        state, detail = "ended", launched.lines[-1] if launched.lines else f"it ended with {launched.code}"
    elif launched.open:
        state, detail = "running", f"the crawl was started as process {launched.pid}"
    else:
        state, detail = "starting", f"process {launched.pid} is still opening the crawl; look again in a moment"
    return Starting(state=state, pid=launched.pid, code=launched.code, lines=launched.lines, detail=detail)
