"""What `tb_health_plugin.summary` logs is what the recorder would write."""

import math
from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin import summary
from tb_health_plugin.events import codec, facts, tags
from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.event_file import EventFile

tf = pytest.importorskip("tensorflow")


def written(logdir: Path) -> list[facts.Fact]:
    """All facts of ours in TensorFlow's own event files."""
    (path,) = logdir.iterdir()
    found = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        event = tf.compat.v1.Event.FromString(record)
        for value in event.summary.value:
            ours = type(codec.fact_summary(facts.Incident(wall_time=0)).value[0])
            value = ours.FromString(value.SerializeToString())
            content = value.metadata.plugin_data.content
            array = tf.make_ndarray(value.tensor)
            if array.dtype == object:
                fact = codec.decode_fact(
                    value.tag, content, array.item(), event.wall_time, event.step
                )
            else:
                numbers = array.ravel().tolist()
                fact = codec.decode_sample(
                    value.tag, content, numbers, event.wall_time, event.step
                )
            found.append(fact)
    return found


@pytest.fixture
def writer(tmp_path: Path):
    made = tf.summary.create_file_writer(str(tmp_path / "logs"))
    with made.as_default():
        yield tmp_path / "logs"
    made.close()


def test_resources_are_written_with_their_names(writer: Path):
    summary.resources(step=3, process_rss_bytes=5.0, host_swap_used_bytes=6)
    tf.summary.flush()

    (sample,) = written(writer)
    assert sample.step == 3
    assert sample.columns == ("process_rss_bytes", "host_swap_used_bytes")
    assert sample.values == (5.0, 6.0)


def test_a_graph_writes_when_it_runs(writer: Path):
    @tf.function
    def step(number):
        summary.data_pipeline(
            step=number,
            wait_seconds=tf.cast(number, tf.float32) / 2,
            step_seconds=1.0,
        )

    for number in range(3):
        step(tf.constant(number, tf.int64))
    tf.summary.flush()

    waits = [sample.values[0] for sample in written(writer)]
    assert waits == [0.0, 0.5, 1.0]


class TestGradients:
    def table(self, sample: facts.Sample) -> dict[str, dict[str, float]]:
        width = len(sample.columns)
        rows = [
            sample.values[i : i + width] for i in range(0, len(sample.values), width)
        ]
        return {
            name: dict(zip(sample.columns, row, strict=True))
            for name, row in zip(sample.rows, rows, strict=True)
        }

    @pytest.mark.parametrize(
        "compiled", [None, False, True], ids=["eager", "graph", "xla"]
    )
    def test_norms_counts_and_shares(self, writer: Path, compiled: bool | None):
        weight = tf.Variable([[3.0, 4.0]], name="kernel")
        unused = tf.Variable([1.0], name="unused")

        def step():
            with tf.GradientTape() as tape:
                loss = weight[0, 0] * 2.0
            pairs = zip(
                tape.gradient(loss, [weight, unused]), [weight, unused], strict=True
            )
            return list(pairs)

        if compiled is None:
            summary.gradients(step(), step=1)
        else:
            inner = tf.function(lambda: step()[0][0], jit_compile=compiled)

            @tf.function
            def outer():
                summary.gradients([(inner(), weight), (None, unused)], step=1)

            outer()
        tf.summary.flush()

        (sample,) = written(writer)
        table = self.table(sample)
        assert table["kernel:0"] == {
            "has_gradient": 1.0,
            "norm": 2.0,
            "nonfinite_count": 0.0,
            "zero_fraction": 0.5,
            "size": 2.0,
            "weight_norm": 5.0,
        }
        assert table["unused:0"]["has_gradient"] == 0.0
        assert math.isnan(table["unused:0"]["norm"])

    def test_sparse_gradients_of_an_embedding(self, writer: Path):
        table = tf.Variable(tf.ones((4, 2)), name="embedding")
        slices = tf.IndexedSlices(tf.constant([[1.0, math.nan]]), [2], (4, 2))

        summary.gradients([(slices, table)], step=0)
        tf.summary.flush()

        row = self.table(written(writer)[0])["embedding:0"]
        assert row["nonfinite_count"] == 1.0
        assert row["zero_fraction"] == 0.75

    def test_the_twin_computes_the_same_from_arrays(self):
        made = summary.gradients_pb(
            {
                "kernel": (np.array([[2.0, 0.0]]), np.array([[3.0, 4.0]])),
                "b": (None, [1]),
            }
        )

        table = self.table(codec.decode_value(made.value[0], 0.0, 0))
        assert table["kernel"]["norm"] == 2.0
        assert table["kernel"]["zero_fraction"] == 0.5
        assert table["b"]["has_gradient"] == 0.0


def test_incidents_and_stops_are_written(writer: Path):
    summary.incident("checkpoint_saved", "Saved.", step=1, wall_time=12.0)
    summary.stop("finished", step=2, message="Done.")
    tf.summary.flush()

    incident, stop = written(writer)
    assert (incident.kind, incident.message) == ("checkpoint_saved", "Saved.")
    assert incident.happened_at == 12.0
    assert (stop.reason, stop.message, stop.step) == ("finished", "Done.", 2)


def test_without_a_writer_nothing_happens():
    assert not summary.resources(step=0, process_rss_bytes=1.0)


class TestTwins:
    TWINS = (
        (summary.resources, summary.resources_pb, {"process_rss_bytes": 5.0}),
        (summary.data_pipeline, summary.data_pipeline_pb, {"wait_seconds": 0.5}),
    )

    @pytest.mark.parametrize(("log", "twin", "values"), TWINS)
    def test_they_hold_the_same(self, writer: Path, log, twin, values):
        log(step=4, name="worker 1", **values)
        tf.summary.flush()

        (value,) = twin(name="worker 1", **values).value
        (sample,) = written(writer)
        assert sample == codec.decode_value(value, sample.wall_time, 4)

    def test_a_raw_writer_takes_them(self, tmp_path: Path):
        file = EventFile(tmp_path / str(FileName("records", 0)), now=1.0)

        file.append(summary.stop_pb("finished"), wall_time=2.0, step=5)

        file.close()

    def test_tensorboards_own_writer_takes_them(self, tmp_path: Path):
        """The writer inside torch.utils.tensorboard."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        writer = EventFileWriter(str(tmp_path / "logs"))
        twin = summary.resources_pb(process_rss_bytes=5.0)
        writer.add_event(Event(wall_time=1.0, step=2, summary=twin))
        writer.close()

        (sample,) = written(tmp_path / "logs")
        assert sample.tag == tags.RESOURCES

    def test_tensorboardx_takes_their_bytes(self, tmp_path: Path):
        tensorboardx = pytest.importorskip("tensorboardX")
        from tensorboardX.proto.summary_pb2 import Summary

        with tensorboardx.SummaryWriter(str(tmp_path / "logs")) as writer:
            twin = summary.incident_pb("saved", "Saved.")
            theirs = Summary.FromString(twin.SerializeToString())
            writer.file_writer.add_summary(theirs, 7)

        (incident,) = written(tmp_path / "logs")
        assert (incident.kind, incident.step) == ("saved", 7)


class TestWrongInput:
    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (
                lambda: summary.resources_pb(process_rss=1),
                "is not a number this summary",
            ),
            (lambda: summary.resources_pb(), "no numbers were given"),
            (
                lambda: summary.resources_pb(name="a:b", process_rss_bytes=1),
                "name='a:b'",
            ),
            (lambda: summary.incident_pb("", "x"), "kind is empty"),
            (lambda: summary.incident_pb("a\0", "x"), "cannot be part of a tag"),
            (lambda: summary.incident_pb("a", "x", severity="bad"), "severity='bad'"),
            (
                lambda: summary.incident_pb("a", "x", wall_time=math.nan),
                "wall_time=nan",
            ),
            (lambda: summary.stop_pb("x", wall_time=-1.0), "wall_time=-1.0"),
            (lambda: summary.gradients_pb({}), "gradients is empty"),
            (lambda: summary.gradients([], step=0), "grads_and_vars is empty"),
        ],
    )
    def test_it_is_named(self, call, words: str):
        with pytest.raises(ValueError, match=words):
            call()
