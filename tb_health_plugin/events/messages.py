"""The message classes of `health.proto`, made at import from its descriptor set.

Generated `_pb2.py` code raises at import when the installed protobuf runtime is
older than the generator. Classes made from a descriptor work with every runtime
that the supported TensorBoards accept, at the same speed.
"""

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_DESCRIPTOR_SET = Path(__file__).with_name("health.binpb")
_PACKAGE = "tb_health_plugin"


def _make_classes() -> dict[str, type[Message]]:
    files = descriptor_pb2.FileDescriptorSet.FromString(_DESCRIPTOR_SET.read_bytes())
    # A pool of our own: nothing another library registers can collide with it.
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    factory: Any = message_factory
    if hasattr(factory, "GetMessageClass"):
        make = factory.GetMessageClass
    else:  # protobuf before 4.22
        make = factory.MessageFactory(pool).GetPrototype
    return {
        message.name: make(pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}"))
        for file in files.file
        for message in file.message_type
    }


_CLASSES = _make_classes()


def message_class(name: str) -> type[Message]:
    """The class of the message called `name` in `health.proto`."""
    return _CLASSES[name]
