"""Prints every sentence that is said of recorded runs, to be read aloud.

    python -m tests.runs.read_aloud [NAME ...]

Read them as the tired person would who has to act on them.
"""

import sys
from collections.abc import Iterator

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.verdict import Verdict
from tests import runs


def sentences(one: Verdict) -> Iterator[str]:
    """All that one finding says, a line each."""
    under = f", because of {one.caused_by}" if one.caused_by else ""
    yield f"{one.id} ({one.detail}; {one.severity}, {one.confidence}{under})"
    yield f"  {one.headline}"
    yield f"  {one.because}"
    for evidence in one.evidence:
        yield f"  {'-' if evidence.strong else '.'} {evidence.text}"
    for fix in one.fixes:
        yield f"  > {fix.title}. {fix.why}"
        yield from (f"      {line}" for line in (fix.code or "").splitlines())


def main(names: list[str]) -> None:
    for name in names or runs.names():
        story = judge(runs.attempt(name), runs.GONE)
        sys.stdout.write(f"\n=== {name}: {story.headline}\n")
        for one in story.findings:
            sys.stdout.writelines(f"{line}\n" for line in sentences(one))


if __name__ == "__main__":
    main(sys.argv[1:])
