"""The compiled schema is the written one, and every field is documented."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from tb_health_plugin.events import messages

PROTO = Path(messages.__file__).with_name("health.proto")
COMPILED = Path(messages.__file__).with_name("health.binpb")
FIELD_LINE = re.compile(
    r"^  (?:optional |repeated )?[\w<>, ]+ (\w+) = \d+;$", re.MULTILINE
)
FIELDS = list(FIELD_LINE.finditer(PROTO.read_text()))


def test_the_committed_descriptor_is_current(tmp_path: Path):
    fresh = tmp_path / "fresh.binpb"

    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}"),
            *(f"--descriptor_set_out={fresh}", PROTO.name),
        ],
        check=True,
    )

    parse = descriptor_pb2.FileDescriptorSet.FromString
    assert parse(fresh.read_bytes()) == parse(COMPILED.read_bytes())


@pytest.mark.parametrize("field", FIELDS, ids=lambda m: m[1])
def test_every_field_says_what_it_is_and_since_when(field: "re.Match[str]"):
    comment = PROTO.read_text()[: field.start()].rsplit("\n\n", 1)[-1]

    last_sentence = comment.rstrip().rsplit("//", 1)[-1]
    assert re.search(r"Since \d+\.$", last_sentence)


def test_all_fields_were_looked_at():
    files = descriptor_pb2.FileDescriptorSet.FromString(COMPILED.read_bytes())
    fields = [f.name for m in files.file[0].message_type for f in m.field]

    assert [match[1] for match in FIELDS] == fields


def test_messages_of_another_library_with_our_name_do_not_collide():
    from google.protobuf import descriptor_pool

    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tb_health_plugin.RunStarted")
