"""Facts survive the way into a summary and back."""

import dataclasses
import math
import struct
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_health_plugin.events import codec, columns, facts, tags
from tb_health_plugin.events.messages import message_class

KINDS = tuple(codec.FACT_CLASSES.values())
# Protobuf text is UTF-8, which has no lone surrogates.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
BY_TYPE = {
    "str": TEXT,
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
}


def values_of(field: "dataclasses.Field[typing.Any]") -> st.SearchStrategy[typing.Any]:
    if "of" in field.metadata:
        return st.lists(items_of(field.metadata["of"]), max_size=3).map(tuple)
    if field.name in ("settings", "rules"):
        return st.dictionaries(TEXT, TEXT)
    if field.name in ("metrics", "callback_seconds"):
        return st.dictionaries(TEXT, st.floats(allow_nan=False))
    if field.default == "":
        # Absent and empty text are the same in a part of a fact.
        return TEXT
    kind = getattr(field.type, "__name__", str(field.type)).removesuffix(" | None")
    return st.none() | BY_TYPE[kind]


def items_of(kind: type) -> st.SearchStrategy[typing.Any]:
    if not dataclasses.is_dataclass(kind):
        return BY_TYPE[kind.__name__]
    parts = {f.name: values_of(f) for f in dataclasses.fields(kind)}
    return st.builds(kind, **parts)


def facts_of(kind: type[facts.Fact]) -> st.SearchStrategy[facts.Fact]:
    own = {f.name: values_of(f) for f in dataclasses.fields(kind)}
    outer = {"wall_time": st.floats(0, 1e12), "step": st.integers(0, 2**62)}
    return st.builds(kind, **{**own, **outer})


def there_and_back(fact: facts.Fact) -> facts.Fact:
    (value,) = codec.fact_summary(fact).value
    return codec.decode_value(value, fact.wall_time, fact.step)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_fact_comes_back_as_it_was(kind: type[facts.Fact]):
    @settings(max_examples=30, deadline=None)
    @given(facts_of(kind))
    def check(fact: facts.Fact) -> None:
        assert there_and_back(fact) == fact

    check()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_the_fields_of_its_message(kind: type[facts.Fact]):
    fields = {f.name for f in dataclasses.fields(kind)} - {"wall_time", "step"}

    message = message_class(kind.__name__)
    assert {field.name for field in message.DESCRIPTOR.fields} == fields


def test_every_subclass_has_a_tag():
    known = {kind.__name__ for kind in (*KINDS, facts.Sample)}

    assert {kind.__name__ for kind in facts.Fact.__subclasses__()} == known


def test_a_field_that_is_zero_is_not_one_that_is_absent():
    fact = facts.TrainingEnded(wall_time=1.0, training=0, last_step=None)

    assert there_and_back(fact) == fact


def test_names_come_back_in_the_same_order_in_every_process():
    names = [f"metric{number}" for number in range(20)]
    fact = facts.EpochEnded(wall_time=1.0, metrics=dict.fromkeys(reversed(names), 1.0))

    assert list(there_and_back(fact).metrics) == sorted(names)


def test_text_that_is_not_text_is_replaced_not_refused():
    fact = facts.Incident(wall_time=1.0, message="bad \ud800 byte")

    assert there_and_back(fact).message == "bad ? byte"


def test_a_megabyte_of_text_is_cut_and_says_so():
    fact = facts.Incident(wall_time=1.0, text="x" * 1_000_000)

    text = there_and_back(fact).text
    assert len(text) < 70_000
    assert text.endswith("(934,464 more characters)")


def test_a_sample_comes_back_with_its_names():
    summary = codec.sample_summary(tags.RESOURCES, {"process_rss_bytes": 5.0})

    sample = codec.decode_value(summary.value[0], 2.0, 3)
    assert sample == facts.Sample(
        wall_time=2.0,
        step=3,
        tag=tags.RESOURCES,
        columns=("process_rss_bytes",),
        values=(5.0,),
    )


def test_a_table_keeps_its_rows():
    summary = codec.sample_summary(
        tags.GRADIENTS, {"norm": [1.0, 2.0], "size": [3.0, 4.0]}, ["a", "b"]
    )

    sample = codec.decode_value(summary.value[0], 0.0, 0)
    assert sample.rows == ("a", "b")
    assert sample.values == (1.0, 3.0, 2.0, 4.0)


class TestWhatIsNotOursToRead:
    def value(self, tag: str = tags.INCIDENT, version: int = 1):
        (value,) = codec.fact_summary(facts.Incident(wall_time=1.0)).value
        value.tag = tag
        head = message_class("Metadata")(format_version=version)
        value.metadata.plugin_data.content = head.SerializeToString()
        return value

    def test_an_unknown_tag(self):
        with pytest.raises(codec.UnknownRecord):
            codec.decode_value(self.value(tag="health/tomorrow"), 0.0, 0)

    def test_a_newer_format(self):
        with pytest.raises(codec.NewerFormat):
            codec.decode_value(self.value(version=tags.FORMAT_VERSION + 1), 0.0, 0)

    def test_no_format_at_all(self):
        with pytest.raises(codec.DamagedRecord):
            codec.decode_value(self.value(version=0), 0.0, 0)

    def test_bytes_that_are_no_message(self):
        value = self.value()
        value.tensor.string_val[0] = b"\xff\xff\xff"

        with pytest.raises(codec.DamagedRecord):
            codec.decode_value(value, 0.0, 0)

    def test_numbers_that_do_not_fit_their_names(self):
        content = codec.metadata(["step"]).plugin_data.content

        with pytest.raises(codec.DamagedRecord):
            codec.decode_sample(tags.RESOURCES, content, [1, 2], 0, 0)

    def test_unknown_fields_of_a_known_message_are_passed_over(self):
        value = self.value()
        # Field 99, a string.
        value.tensor.string_val[0] += b"\x9a\x06\x03new"

        assert codec.decode_value(value, 1.0, 0) == facts.Incident(wall_time=1.0)


@pytest.mark.parametrize("wall_time", [math.nan, math.inf, -1.0, 1e300])
def test_a_fact_at_a_time_that_is_none_is_damaged(wall_time: float):
    (value,) = codec.fact_summary(facts.Incident(wall_time=1.0)).value

    with pytest.raises(codec.DamagedRecord, match="is not a time"):
        codec.decode_value(value, wall_time, 0)


def test_numbers_that_were_cut_off_are_damaged():
    (value,) = codec.fact_summary(facts.Incident(wall_time=1.0)).value
    value.tensor.dtype = codec.DT_DOUBLE
    value.tensor.tensor_content = bytes(15)
    del value.tensor.string_val[:]

    with pytest.raises(codec.DamagedRecord, match="15 bytes"):
        codec.decode_value(value, 1.0, 0)


@pytest.mark.parametrize("wall_time", [math.nan, math.inf, -1.0])
def test_a_time_that_is_none_is_refused(wall_time: float):
    with pytest.raises(ValueError, match=f"wall_time={wall_time!r} is not a time"):
        codec.check_wall_time(wall_time)


class TestNames:
    @pytest.mark.parametrize("name", ["gpu:0", "a\0b", "a/", "/a", "x" * 201, "ü"])
    def test_a_bad_name_is_refused_by_name(self, name: str):
        with pytest.raises(ValueError, match="cannot be part of a tag"):
            tags.named(tags.RESOURCES, name)

    def test_the_kind_is_found_again(self):
        tag = tags.named(tags.RESOURCES, "worker 3/gpu.0")

        assert tags.kind_of(tag) == tags.RESOURCES

    def test_a_wrong_column_is_told_with_the_nearest_right_one(self):
        with pytest.raises(ValueError, match="Did you mean 'process_rss_bytes'"):
            columns.check_names(["process_rss_byte"], columns.RESOURCES)

    def test_columns_are_unique_and_documented(self):
        names = [column.name for column in columns.ALL]

        assert len(set(names)) == len(names)
        assert all(column.meaning.endswith(".") for column in columns.ALL)


def test_not_measured_is_a_nan_that_other_nans_are_not():
    def bits(value: float) -> int:
        return struct.unpack("<Q", struct.pack("<d", value))[0]

    assert math.isnan(columns.NOT_MEASURED)
    assert bits(columns.NOT_MEASURED) == columns.NOT_MEASURED_BITS
    assert bits(math.nan) != columns.NOT_MEASURED_BITS


def test_of_very_many_layers_the_first_are_told():
    layers = tuple(facts.Layer(name=str(n)) for n in range(codec.MOST_ITEMS + 1))
    fact = facts.TrainingStarted(wall_time=1.0, training=0, layers=layers)

    (value,) = codec.fact_summary(fact).value

    read = codec.decode_value(value, 1.0, 0)
    assert read.layers == layers[: codec.MOST_ITEMS]
