"""Records in bytes: cut, damaged, and found again."""

import pytest

from tb_health_plugin.events.framing import (
    LONGEST_RECORD_BYTES,
    OVERHEAD_BYTES,
    Scan,
    frame,
    whole_records,
)

RECORDS = [b"one", b"two two", b"three three three"]
FILE = b"".join(map(frame, RECORDS))


def read(data: bytes) -> tuple[list[bytes], Scan]:
    scan = Scan()
    return [bytes(record) for record in whole_records(data, scan)], scan


def test_whole_records_are_read_in_order():
    records, scan = read(FILE)

    assert records == RECORDS
    assert scan == Scan(consumed=len(FILE))


@pytest.mark.parametrize("cut", range(1, len(RECORDS[-1]) + OVERHEAD_BYTES + 1))
def test_a_tail_cut_at_any_byte_is_left_for_later(cut: int):
    records, scan = read(FILE[:-cut])

    assert records == RECORDS[:-1]
    assert scan.damaged == 0
    rest, _ = read(FILE[scan.consumed :])
    assert rest == RECORDS[-1:]


@pytest.mark.parametrize("position", range(len(FILE)))
def test_one_wrong_byte_costs_at_most_its_own_record(position: int):
    damaged = bytearray(FILE)
    damaged[position] ^= 0xFF

    records, scan = read(bytes(damaged))

    hit = 0 if position < 19 else 1 if position < 19 + 23 else 2
    others = [record for index, record in enumerate(RECORDS) if index != hit]
    assert records == others
    # Damage at the very end may still be a record that grows.
    assert scan.damaged == 1 or hit == 2


def test_a_stretch_of_zeros_is_one_damage():
    records, scan = read(FILE[:19] + bytes(1000) + FILE[19:])

    assert records == RECORDS
    assert scan.damaged == 1


def test_damage_that_goes_on_in_the_next_look_is_counted_once():
    scan = Scan()

    list(whole_records(b"\xff" * 100, scan))
    list(whole_records(b"\xff" * 100, scan))

    assert scan.damaged == 1


def test_a_record_longer_than_any_of_ours_is_damage():
    header = frame(b"x" * 8)[:8].replace(
        b"\x08", (LONGEST_RECORD_BYTES + 1).to_bytes(4, "little")[:1]
    )

    _, scan = read(header + bytes(100))

    assert scan.damaged == 1


def test_tensorboards_own_reader_accepts_our_framing(tmp_path):
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import (
        PyRecordReader_New,
    )

    path = tmp_path / "file"
    path.write_bytes(FILE)

    reader = PyRecordReader_New(str(path))
    read_back = []
    for _ in RECORDS:
        reader.GetNext()
        read_back.append(bytes(reader.record()))
    reader.file_handle.close()
    assert read_back == RECORDS
