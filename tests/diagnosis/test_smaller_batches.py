"""How many rows a batch has, by what was set or seen, and half of them."""

from collections.abc import Mapping

import pytest

from tb_health_plugin.diagnosis.smaller_batches import batch_rows, halved
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt


def of(settings: Mapping[str, str], *told: facts.Fact) -> Attempt:
    attempt = Attempt("a")
    attempt.add(facts.TrainingStarted(wall_time=1.0, training=0, settings=settings))
    for fact in told:
        attempt.add(fact)
    return attempt


SEEN = facts.BatchSeen(
    wall_time=2.0, training=0, fields=(facts.Field(name="x", shape=(48, 3)),)
)


PIPELINE = {"data.kind": "tf.data"}


@pytest.mark.parametrize(
    ("attempt", "rows", "code"),
    [
        (of({"batch_size": "64"}), 64, "batch_size=32"),
        (
            of({**PIPELINE, "data.elements": "float32[32, 8], float32[32, 1]"}),
            32,
            "dataset = dataset.batch(16)",
        ),
        (of(PIPELINE, SEEN), 48, "dataset = dataset.batch(24)"),
        (of({}, SEEN), 48, "batch_size=24"),
        (of({"batch_size": "1"}), 1, None),
        (of({"data.elements": "float32[None, 8]"}), None, None),
        (Attempt("a"), None, None),
    ],
)
def test_half_of_what_a_batch_has(attempt: Attempt, rows: int | None, code: str | None):
    assert batch_rows(attempt) == rows
    assert halved(attempt).code == code
