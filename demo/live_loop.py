"""A training loop without a framework, for pictures of runs that are still alive.

python -m demo.live_loop LOGDIR [--stuck-at-step N]
"""

import argparse
import math
import threading
import time

import tb_health_plugin

STEP_SECONDS = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--stuck-at-step", type=int, default=0)
    options = parser.parse_args()
    never_set = threading.Event()
    with tb_health_plugin.watch(options.logdir) as health:
        step = 0
        while True:
            time.sleep(STEP_SECONDS)
            step += 1
            health.step(loss=0.2 + 2 * math.exp(-step / 400))
            if step == options.stuck_at_step:
                never_set.wait()


if __name__ == "__main__":
    main()
