"""Records of real workers, small and nameless, one folder per scenario.

`python -m tests.workers.recorded SCENARIO LOGDIR` makes one from what
`python -m tests.workers SCENARIO --keep DIR` left, and
`python -m tests.workers.recorded --servers even|uneven LOGDIR` one from what
`python -m tests.workers.servers` left.
"""

import sys
from pathlib import Path

from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.together import judge_start
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY
from tb_health_plugin.reading.run_history import RunHistory
from tests.runs import GONE
from tests.runs.scrub import scrub

HERE = Path(__file__).with_name("recorded")
# With parameter servers.
SERVERS = Path(__file__).with_name("recorded_servers")


def names() -> list[str]:
    return sorted(path.name for path in HERE.iterdir() if path.is_dir())


def history(name: str, below: Path = HERE) -> RunHistory:
    return find_run(below / name)


def told(found: RunHistory) -> Answer:
    """What is said of them, whatever lives on this machine."""
    start = judge_start(
        found.starts[-1], lambda attempt, team: judge(attempt, GONE, team=team)
    )
    return answer(found.spoken_for_by(start.attempt), start.story, start)


def main(name: str, logdir: Path, below: Path = HERE) -> None:
    for number, attempt in enumerate(find_run(logdir).starts[-1].attempts):
        scrub(attempt, below / name / HEALTH_DIRECTORY / f"recorded{number}")


if __name__ == "__main__":
    if sys.argv[1] == "--servers":
        main(sys.argv[2], Path(sys.argv[3]), SERVERS)
    else:
        main(sys.argv[1], Path(sys.argv[2]))
