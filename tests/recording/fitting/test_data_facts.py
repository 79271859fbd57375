"""What real sources of batches say of themselves before a batch is taken."""

import numpy as np
import pytest

from tb_health_plugin.recording.fitting.batch_fields import fields_of
from tb_health_plugin.recording.fitting.data_facts import (
    planned_validation_steps,
    settings_of,
)

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

pytestmark = pytest.mark.live

X = np.ones((100, 4), "float32")
Y = np.zeros((100, 1), "float32")
SLICES = tf.data.Dataset.from_tensor_slices((X, Y))


def double(x, y):
    return x * 2, y


class TestArrays:
    @pytest.mark.parametrize("x", [X, [X, X], {"a": X}, tf.constant(X)])
    def test_arrays_count_their_rows(self, x):
        found = settings_of({"x": x, "y": Y})

        assert found["data.kind"] == "arrays"
        assert (found["data.examples"], found["data.batches"]) == ("100", "4")
        assert found["batch_size"] == "32"

    def test_keras_shuffles_arrays_unless_told_not_to(self):
        assert settings_of({"x": X})["shuffle"] == "True"
        assert settings_of({"x": X, "shuffle": False})["shuffle"] == "False"
        assert "shuffle" not in settings_of({"x": SLICES.batch(8), "shuffle": True})

    def test_what_validation_takes_away_is_not_trained_on(self):
        given = {"x": X, "y": Y, "validation_split": 0.2, "batch_size": 7}

        found = settings_of(given)

        assert (found["data.batches"], found["validation.batches"]) == ("12", "3")
        assert planned_validation_steps(given) == 3

    def test_keras_splits_and_counts_the_same(self):
        seen = {"train": 0, "test": 0}

        class Counts(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen["train"] += 1

            def on_test_batch_end(self, batch, logs=None):
                seen["test"] += 1

        given = {"x": X[:97], "y": Y[:97], "validation_split": 0.3, "batch_size": 6}
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(**given, verbose=0, callbacks=[Counts()])

        assert settings_of(given)["data.batches"] == str(seen["train"])
        assert planned_validation_steps(given) == seen["test"]


class TestPipelines:
    def test_stages_are_told_from_source_to_end(self):
        pipeline = (
            SLICES.shuffle(10)
            .map(double, num_parallel_calls=2)
            .cache()
            .batch(8)
            .repeat()
            .prefetch(1)
        )

        found = settings_of({"x": pipeline})

        stages = "TensorSlice, Shuffle, ParallelMap, Cache, Batch, Repeat, Prefetch"
        assert found["data.kind"] == "tf.data"
        assert found["data.stages"] == stages
        assert found["data.infinite"] == "True"
        assert "data.batches" not in found
        for name in ("shuffle", "parallel", "cache", "repeat", "prefetch"):
            assert found[f"data.{name}"] == "True"
        assert found["data.python"] == "False"
        assert found["data.elements"] == "float32[None, 4], float32[None, 1]"

    def test_what_a_pipeline_lacks_is_told_too(self):
        found = settings_of({"x": SLICES.map(double).batch(8)})

        for name in ("shuffle", "parallel", "cache", "repeat", "prefetch"):
            assert found[f"data.{name}"] == "False"
        assert found["data.batches"] == "13"
        assert "data.infinite" not in found

    def test_a_pipeline_without_maps_is_neither_parallel_nor_not(self):
        assert "data.parallel" not in settings_of({"x": SLICES.batch(8)})

    def test_options_are_no_stage(self):
        pipeline = SLICES.batch(8).prefetch(1).with_options(tf.data.Options())

        assert settings_of({"x": pipeline})["data.prefetch"] == "True"

    @pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
    def test_a_function_that_calls_python_is_seen(self, call):
        def python(x, y):
            return call(lambda z: z, [x], tf.float32), y

        found = settings_of({"x": SLICES.map(python).batch(8)})

        assert found["data.python"] == "True"

    def test_a_generator_inside_a_pipeline_is_seen(self):
        def rows():
            yield X[0]

        made = tf.data.Dataset.from_generator(
            rows, output_signature=tf.TensorSpec((4,), tf.float32)
        )

        found = settings_of({"x": made.batch(2)})

        assert "Generator" in found["data.stages"]
        assert "data.batches" not in found
        assert "data.infinite" not in found

    def test_stages_inside_an_interleave_are_seen(self):
        made = tf.data.Dataset.range(3).interleave(
            lambda i: tf.data.Dataset.range(i).map(lambda x: x + 1),
            num_parallel_calls=2,
        )

        found = settings_of({"x": made.batch(2)})

        assert found["data.stages"] == "Range, Range, Map, ParallelInterleave, Batch"
        assert found["data.parallel"] == "True"
        assert "data.python" not in found

    def test_pipelines_that_join_are_told_one_after_the_other(self):
        zipped = tf.data.Dataset.zip((SLICES.map(double), tf.data.Dataset.range(9)))

        found = settings_of({"x": zipped.batch(3)})

        assert found["data.stages"] == "TensorSlice, Map, Range, Zip, Batch"

    def test_an_empty_pipeline_has_no_batches(self):
        assert settings_of({"x": SLICES.take(0).batch(8)})["data.batches"] == "0"

    def test_nothing_is_taken_from_the_pipeline(self):
        taken = []

        def rows():
            taken.append(1)
            yield X[0]

        made = tf.data.Dataset.from_generator(
            rows, output_signature=tf.TensorSpec((4,), tf.float32)
        )
        shuffled = tf.data.Dataset.range(50).shuffle(50, seed=3)
        settings_of({"x": made.batch(2).prefetch(2)})
        settings_of({"x": shuffled})

        assert taken == []
        again = tf.data.Dataset.range(50).shuffle(50, seed=3)
        assert list(shuffled.as_numpy_iterator()) == list(again.as_numpy_iterator())


class TestOthers:
    def test_a_py_dataset_tells_its_workers(self):
        class Batches(keras.utils.PyDataset):
            def __len__(self):
                return 7

            def __getitem__(self, index):
                return X, Y

        made = Batches(workers=3, use_multiprocessing=False, max_queue_size=5)

        found = settings_of({"x": made})

        assert (found["data.kind"], found["data.class"]) == ("PyDataset", "Batches")
        assert found["data.workers"] == "3"
        assert found["data.use_multiprocessing"] == "False"
        assert found["data.max_queue_size"] == "5"
        assert found["data.batches"] == "7"

    def test_a_length_that_fails_is_no_fault_of_ours(self):
        class Broken(keras.utils.PyDataset):
            def __len__(self):
                raise RuntimeError("no idea")

        assert "data.batches" not in settings_of({"x": Broken()})

    def test_a_generator_without_a_way_out_never_ends(self):
        def for_ever():
            while True:
                yield X, Y

        def until(end):
            while True:
                if end():
                    return
                yield X, Y

        def once():
            yield from [(X, Y)]

        assert settings_of({"x": for_ever()})["data.infinite"] == "True"
        assert "data.infinite" not in settings_of({"x": until(list)})
        assert "data.infinite" not in settings_of({"x": once()})
        assert settings_of({"x": until(list)})["data.loops_for_ever"] == "True"
        assert "data.loops_for_ever" not in settings_of({"x": once()})

    def test_a_generator_tells_nothing_and_loses_nothing(self):
        generator = iter([(X, Y), (X, Y)])

        assert settings_of({"x": generator}) == {"data.kind": "generator"}
        assert len(list(generator)) == 2
        assert settings_of({"x": (b for b in ())}) == {"data.kind": "generator"}

    def test_another_class_is_told_by_its_name(self):
        class Loader:
            def __len__(self):
                return 4

        found = settings_of({"x": Loader()})

        assert found == {"data.kind": "Loader", "data.batches": "4"}

    def test_a_call_that_was_not_seen_tells_nothing(self):
        assert settings_of({}) == {}
        assert planned_validation_steps({}) is None


class TestValidation:
    def test_arrays_are_counted_in_batches_of_their_own_size(self):
        given = {"x": X, "validation_data": (X, Y), "validation_batch_size": 30}

        assert planned_validation_steps(given) == 4
        assert settings_of(given)["validation.examples"] == "100"

    def test_steps_that_were_asked_for_win(self):
        given = {"x": X, "validation_data": (X, Y), "validation_steps": 2}

        assert planned_validation_steps(given) == 2

    def test_a_pipeline_is_told_like_the_one_to_train_on(self):
        given = {"x": SLICES.batch(8), "validation_data": SLICES.batch(50)}

        assert planned_validation_steps(given) == 2
        assert settings_of(given)["validation.stages"] == "TensorSlice, Batch"

    def test_validation_without_end_has_no_planned_number(self):
        given = {"x": X, "validation_data": SLICES.batch(8).repeat()}

        assert planned_validation_steps(given) is None
        assert settings_of(given)["validation.infinite"] == "True"


class TestTensorsOfABatch:
    def test_tensors_are_described_like_arrays(self):
        x = np.ones((8, 3), "float32")
        x[5, 1] = np.nan

        for dtype in (tf.float32, tf.bfloat16, tf.float16):
            (field,) = fields_of((tf.cast(tf.constant(x), dtype),))
            assert field.dtype == dtype.name
            assert (field.nonfinite_count, field.bad_row) == (1, 5)

    def test_ragged_and_sparse_tensors_have_a_type_and_a_shape(self):
        ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
        sparse = tf.sparse.from_dense([[1.0, 0.0]])

        fields = fields_of(([ragged, sparse, tf.constant(["text"])],))

        shapes = [(field.dtype, field.shape) for field in fields]
        assert shapes == [("float32", (2, -1)), ("float32", (1, 2)), ("string", (1,))]
        assert all(field.mean is None for field in fields)
