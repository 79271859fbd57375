"""The kernel's small files, and the ways in which they are not as expected."""

from pathlib import Path

import pytest

from tb_health_plugin.collectors.kernel_files import parse_number, parse_numbers, read


def test_what_is_not_there_reads_as_nothing(tmp_path: Path):
    assert read(tmp_path / "none") == ""
    assert read(tmp_path) == ""


def test_a_name_need_not_be_utf_8(tmp_path: Path):
    (tmp_path / "stat").write_bytes(b"42 (\xff\xfe) S\n")

    assert read(tmp_path / "stat").endswith(") S\n")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7\n", 7), ("-1\n", -1), ("max\n", None), ("", None), ("1 2\n", None)],
)
def test_a_file_of_one_number(text: str, number: int | None):
    assert parse_number(text) == number


def test_all_three_ways_to_write_a_line():
    text = "oom_kill 1\nread_bytes: 2\nVmSwap:\t       3 kB\nother 4\n"

    assert parse_numbers(text, ("oom_kill", "read_bytes", "VmSwap")) == {
        "oom_kill": 1,
        "read_bytes": 2,
        "VmSwap": 3,
    }


def test_malformed_lines_are_left_out():
    assert parse_numbers("\na\nb x\nc 1.5\n: 7\n", ("a", "b", "c")) == {}
