"""Promises beside measurements: falls come first, and nobody's silence is a pass."""

from bench.budgets import BUDGETS, Budget, Budgets, compared

RESULTS = [
    {
        "asked_by": "watcher_cost",
        "question": "The watcher",
        "numbers": {
            "running after, s": 0.2,
            "memory of its own (USS), MiB": 26.0,
            "share of one core at 1 Hz, %": 0.2,
            "a SIGKILL is on disk after, s": 0.3,
        },
    },
    {
        "asked_by": "hook_cost",
        "workload": "fit, steps of about 50 ms",
        "question": "",
        "variants": {
            "bare": {"cpu_ratio": {"median": 1.0}},
            "HealthCallback": {
                "wall_ratio": {"median": 1.005},
                "cpu_ratio": {"median": 1.01},
                "start_more_s": 0.7,
                "peak_more_mib": 12.0,
            },
            "Keras TensorBoard callback": {"cpu_ratio": {"median": 1.2}},
        },
    },
]


def words() -> dict[str, str]:
    told = compared(RESULTS).as_json()["budgets"]
    return {one["what"]: one["result"] for one in told}


def test_each_promise_passes_falls_short_or_was_not_measured():
    told = words()

    assert told["watcher, own memory"] == "falls short"
    assert told["watcher, running after"] == "pass"
    assert told["hook, wall time at 50 ms steps"] == "pass"
    assert told["hook, wall time at 1 ms steps"] == "not measured"
    assert told["hook, later start"] == "falls short"
    assert told["hook, CPU beside the cheapest peer, 50 ms"] == "pass"
    assert told["zoom and pan"] == "not measured"
    assert len(told) == len(BUDGETS)


def test_falls_are_listed_first():
    rows = str(compared(RESULTS)).splitlines()

    assert rows[0] == "### Budgets: 2 of 9 measured ones fall short"
    assert rows[4].endswith("falls short |")
    assert rows[5].endswith("falls short |")
    assert rows[6].endswith("pass |")


def test_some_promises_are_the_least_not_the_most():
    frames = Budget("frames", 50, "/s", lambda results: None, at_least=True)

    assert Budgets(((frames, 49.0),)).falls == (frames,)
    assert Budgets(((frames, 50.0),)).falls == ()
