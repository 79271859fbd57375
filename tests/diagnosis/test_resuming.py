"""How a training that was broken off goes on."""

import pytest

from tb_health_plugin.diagnosis.resuming import SAVE_OFTEN, go_on
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt


def of(*told: facts.Fact, callbacks: str = "History", loop: str = "fit") -> Attempt:
    """Two epochs of 100 steps out of ten, and then 50 steps more."""
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, program="tune.py"))
    attempt.add(
        facts.TrainingStarted(
            wall_time=2.0,
            training=0,
            planned_epochs=10,
            loop=loop,
            settings={"callbacks": callbacks},
        )
    )
    for epoch in range(2):
        steps = 100 * (epoch + 1)
        attempt.add(
            facts.EpochEnded(
                wall_time=3.0, step=steps, training=0, epoch=epoch, last_step=steps
            )
        )
    for fact in told:
        attempt.add(fact)
    attempt.add(facts.ProcessEnded(wall_time=9.0, step=250, signal=9))
    return attempt


def saved(path: str, step: int = 200, ok: bool | None = True) -> facts.Saved:
    return facts.Saved(wall_time=4.0, step=step, path=path, ok=ok)


def test_from_the_last_checkpoint():
    fix = go_on(of(saved("a-1.keras", 100), saved("a-2.keras")))

    assert fix.why == "It was saved at step 200. The 50 steps after it are lost."
    assert fix.code == (
        'model = keras.models.load_model("a-2.keras")\n'
        "model.fit(..., initial_epoch=2, epochs=10)"
    )


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("w.weights.h5", 'model.load_weights("w.weights.h5")'),
        ('a "b".keras', "model = keras.models.load_model('a \"b\".keras')"),
    ],
)
def test_each_kind_of_file(path: str, first: str):
    assert go_on(of(saved(path))).code.splitlines()[0] == first


def test_a_hand_written_loop_has_no_call_of_fit():
    fix = go_on(of(saved("a.keras"), loop="loop"))

    assert fix.code == 'model = keras.models.load_model("a.keras")'


def test_a_backup_needs_nothing_but_the_same_start():
    fix = go_on(of(callbacks="BackupAndRestore, History"))

    assert fix.code == "python tune.py"


@pytest.mark.parametrize("saves", [[], [saved("a.keras", ok=False)], [saved("ckpt-7")]])
def test_without_one_it_should_save(saves: list[facts.Saved]):
    assert go_on(of(*saves)) == SAVE_OFTEN
