"""The healthy run to compare with: the same program, the nearest settings."""

from tb_health_plugin.comparing.twin import pick_twin
from tb_health_plugin.reading.run_history import RunHistory
from tests.comparing.runs import run

BAD = run("resnet/bs512", settings={"batch_size": "512", "loss": "mse"})


def near(name: str = "near", **more) -> RunHistory:
    return run(name, settings={"batch_size": "128", "loss": "mse"}, **more)


def picked(*healthy: RunHistory) -> str | None:
    twin = pick_twin(BAD, healthy)
    return twin.history.run if twin else None


def test_the_nearest_settings_win_over_the_name():
    far = run("resnet/bs513", settings={"batch_size": "128", "loss": "mae"})

    assert picked(far, near()) == "near"


def test_among_equally_near_ones_the_name_that_begins_alike_wins():
    assert picked(near("a"), near("resnet/bs128"), near("b")) == "resnet/bs128"


def test_then_the_newest_wins():
    assert picked(near("a"), near("b", began=9_000.0), near("c")) == "b"


def test_another_program_is_no_twin():
    assert picked(near(program="/home/ana/other.py")) is None


def test_the_same_program_elsewhere_is_one():
    assert picked(near(program="train.py")) == "near"


def test_a_run_is_not_its_own_twin():
    assert picked(BAD) is None


def test_a_run_without_health_data_is_neither():
    nothing = RunHistory("nothing")

    assert picked(nothing) is None
    assert pick_twin(nothing, [near()]) is None


def test_the_reason_counts_the_settings_that_differ():
    (one, same) = pick_twin(BAD, [near()]), pick_twin(near("a"), [near("b")])

    assert one is not None
    assert same is not None
    assert one.why == (
        "The healthy run of train.py with the nearest settings: 1 of 3 differs."
    )
    assert same.why == "A healthy run of train.py with the same settings."
