"""Runs as Markdown, to be pasted into an issue."""

import time
from collections.abc import Iterator, Sequence

from tb_health_plugin import __version__
from tb_health_plugin.cli.many_runs import Judged
from tb_health_plugin.cli.overview import is_problem, overview
from tb_health_plugin.diagnosis.as_json import Answer
from tb_health_plugin.diagnosis.quantities import duration

# In a table over many runs, the pages of so many are added.
MOST_PAGES = 20


def markdown(judged: Sequence[Judged]) -> str:
    """One run as a page; several as a table, and a page for each with a problem."""
    if len(judged) == 1:
        return "\n".join(_page(judged[0], "#")) + "\n"
    lines = list(_table(judged))
    bad = [one for one in judged if is_problem(one)]
    for one in bad[:MOST_PAGES]:
        lines += ["", *_page(one, "##")]
    if len(bad) > MOST_PAGES:
        lines += ["", f"{len(bad) - MOST_PAGES:,} more are in the table alone."]
    return "\n".join(lines) + "\n"


def _table(judged: Sequence[Judged]) -> Iterator[str]:
    whole = overview(judged)
    yield (
        f"{whole['runs']:,} runs, {whole['problems']:,} with a problem, "
        f"{duration(3_600 * whole['lost_hours'])} lost."
    )
    yield from (
        "",
        "| run | verdict | step | ran for | |",
        "| --- | --- | --- | --- | --- |",
    )
    for one in judged:
        said = one.answer
        cells = (
            said["run"],
            f"`{said['verdict']['id']}`",
            f"{said['step']:,}",
            duration(3_600 * one.hours),
            said["verdict"]["headline"],
        )
        yield f"| {' | '.join(map(_cell, cells))} |"


def _page(one: Judged, mark: str) -> Iterator[str]:
    name = one.program if one.answer["run"] == "." else one.answer["run"]
    yield from verdict_markdown(one.answer, mark, name or "this run")
    yield from ("", f"{mark}# Where", "", *_where(one))


def verdict_markdown(said: Answer, mark: str, name: str = "") -> Iterator[str]:
    """What is said of one run, below a heading that begins with `mark`."""
    verdict = said["verdict"]
    of = f"{_plain(name)}: " if name else ""
    yield f"{mark} {of}{_plain(verdict['headline'])}"
    yield ""
    sure = f", {verdict['confidence']}" if verdict["evidence"] else ""
    yield f"`{verdict['id']}`{sure}. {_plain(verdict['because'])}"
    yield from _list(f"{mark}# How we know", [e["text"] for e in verdict["evidence"]])
    yield from _fixes(said, mark)
    others = [f for f in said["findings"] if f["id"] != verdict["id"]]
    also = [f"{f['headline']} (`{f['id']}`)" for f in others]
    yield from _list(f"{mark}# Also found", also)
    missing = [f"{m['what']}: {m['why']}" for m in said["not_measured"]]
    yield from _list(f"{mark}# Not measured", missing)


def _fixes(said: Answer, mark: str) -> Iterator[str]:
    fixes = said["verdict"]["fixes"]
    if fixes:
        yield from ("", f"{mark}# What to do", "")
    for fix in fixes:
        yield f"- **{_plain(fix['title'])}.** {_plain(fix['why'])}"
        if fix["code"]:
            fence = "````" if "```" in fix["code"] else "```"
            code = [f"  {line}" for line in fix["code"].splitlines()]
            yield from ("", f"  {fence}", *code, f"  {fence}", "")


def _where(one: Judged) -> Iterator[str]:
    """Versions and settings, as they were recorded: without secrets."""
    said = one.answer
    began = said["started_at"]
    facts = {
        "program": one.program or "not recorded",
        "step": f"{said['step']:,}",
        "attempts": f"{said['attempts']:,}",
        "started": _date(began) if began else "not recorded",
        "ran for": duration(3_600 * one.hours),
        **dict(sorted(one.settings.items())),
        "read with": f"tensorboard-plugin-health {__version__}",
    }
    yield from ("| | |", "| --- | --- |")
    for name, value in facts.items():
        yield f"| {_cell(name)} | {_cell(value)} |"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", title, "", *(f"- {_plain(item)}" for item in items))


def _plain(text: str) -> str:
    """Text of others must not become a link, an image or HTML."""
    joined = " ".join(text.split())
    for sign in "\\<>[]`*_":
        joined = joined.replace(sign, f"\\{sign}")
    return joined


def _cell(text: str) -> str:
    if text.startswith("`"):
        return text
    return _plain(text).replace("|", "\\|")
