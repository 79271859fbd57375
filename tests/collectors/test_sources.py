"""Reading the kernel's files, against trees copied from real machines."""

import os
from pathlib import Path

import pytest

from tb_health_plugin import collectors
from tb_health_plugin.collectors.cgroup_memory import (
    CgroupMemory,
    parse_limit,
    parse_oom_kills,
)
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.host_memory import HostMemory, parse_meminfo
from tb_health_plugin.collectors.process_memory import ProcessMemory
from tb_health_plugin.events import columns

PID = 42
PAGE = os.sysconf("SC_PAGE_SIZE")


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def v2(folder: str, used: str, limit: str, kills: int) -> dict[str, str]:
    base = f"sys/fs/cgroup{folder}"
    return {
        f"{base}/memory.current": f"{used}\n",
        f"{base}/memory.max": f"{limit}\n",
        f"{base}/memory.events": f"low 0\nhigh 0\nmax 7\noom 2\noom_kill {kills}\n",
    }


def v1(folder: str, used: str, limit: str, kills: int) -> dict[str, str]:
    base = f"sys/fs/cgroup/memory{folder}"
    return {
        f"{base}/memory.usage_in_bytes": f"{used}\n",
        f"{base}/memory.limit_in_bytes": f"{limit}\n",
        f"{base}/memory.oom_control": f"under_oom 0\noom_kill {kills}\n",
    }


UNLIMITED_V1 = "9223372036854771712"


class TestCgroupMemory:
    @pytest.mark.parametrize(
        "files",
        [
            {"proc/42/cgroup": "0::/job\n", **v2("/job", "300", "1000", 2)},
            {
                "proc/42/cgroup": "5:cpu:/\n4:memory:/job\n",
                **v1("/job", "300", "1000", 2),
            },
        ],
        ids=["v2", "v1"],
    )
    def test_both_versions_read_alike(self, tmp_path: Path, files: dict[str, str]):
        write_tree(tmp_path, files)

        assert CgroupMemory(Watched(pid=PID, root=tmp_path)).collect() == {
            "cgroup_memory_used_bytes": 300.0,
            "cgroup_memory_limit_bytes": 1000.0,
            "cgroup_oom_kills": 2.0,
        }

    def test_the_tightest_limit_may_sit_on_an_ancestor(self, tmp_path: Path):
        write_tree(
            tmp_path,
            {
                "proc/42/cgroup": "0::/slice/job\n",
                **v2("/slice/job", "300", "max", 0),
                **v2("/slice", "700", "900", 1),
            },
        )

        reading = CgroupMemory(Watched(pid=PID, root=tmp_path)).collect()

        assert reading["cgroup_memory_limit_bytes"] == 900.0
        assert reading["cgroup_memory_used_bytes"] == 700.0

    def test_a_container_that_sees_itself_as_the_top(self, tmp_path: Path):
        """The path of /proc/<pid>/cgroup is the host's; the mount is our own."""
        write_tree(
            tmp_path,
            {"proc/42/cgroup": "0::/docker/abc\n", **v2("", "300", "1000", 0)},
        )

        assert (
            CgroupMemory(Watched(pid=PID, root=tmp_path)).collect()[
                "cgroup_memory_limit_bytes"
            ]
            == 1000.0
        )

    def test_no_limit_is_not_a_number(self, tmp_path: Path):
        write_tree(
            tmp_path,
            {"proc/42/cgroup": "4:memory:/\n", **v1("/", "300", UNLIMITED_V1, 0)},
        )

        reading = CgroupMemory(Watched(pid=PID, root=tmp_path)).collect()

        assert "cgroup_memory_limit_bytes" not in reading

    @pytest.mark.parametrize("text", ["max\n", f"{UNLIMITED_V1}\n"])
    def test_both_ways_to_say_no_limit(self, text: str):
        assert parse_limit(text) is None

    def test_kernels_before_4_13_do_not_count_kills(self):
        assert parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n") == 0

    def test_a_process_without_a_memory_controller_is_no_error(self, tmp_path: Path):
        write_tree(tmp_path, {"proc/42/cgroup": "5:cpu:/job\n"})

        with pytest.raises(SourceUnavailable, match="process 42"):
            CgroupMemory(Watched(pid=PID, root=tmp_path))


class TestHostMemory:
    MEMINFO = (
        "MemTotal:       1000 kB\nMemFree: 100 kB\nMemAvailable:    400 kB\n"
        "SwapTotal:       200 kB\nSwapFree:        150 kB\n"
    )

    def test_used_is_what_cannot_be_given_away(self):
        assert parse_meminfo(self.MEMINFO) == {
            "host_memory_total_bytes": 1000.0 * 1024,
            "host_memory_used_bytes": 600.0 * 1024,
            "host_swap_total_bytes": 200.0 * 1024,
            "host_swap_used_bytes": 50.0 * 1024,
        }

    def test_an_old_kernel_does_not_tell_what_is_available(self):
        assert "host_memory_used_bytes" not in parse_meminfo("MemTotal: 1000 kB\n")

    def test_without_proc_psutil_is_asked(self, tmp_path: Path):
        reading = HostMemory(Watched(pid=PID, root=tmp_path)).collect()

        assert set(reading) == set(HostMemory.columns)
        assert reading["host_memory_total_bytes"] > 0


class TestProcessMemory:
    def test_resident_pages_become_bytes(self, tmp_path: Path):
        write_tree(tmp_path, {"proc/42/statm": "900 7 5 1 0 3 0\n"})

        reading = ProcessMemory(Watched(pid=PID, root=tmp_path)).collect()

        assert reading == {"process_rss_bytes": 7.0 * PAGE}

    def test_without_proc_psutil_is_asked(self, tmp_path: Path):
        reading = ProcessMemory(Watched(pid=os.getpid(), root=tmp_path)).collect()

        assert reading["process_rss_bytes"] > 1 << 20


class TestAllOfThem:
    def test_each_fills_only_columns_of_the_vocabulary(self):
        known = {column.name for column in columns.RESOURCES}

        for kind in collectors.collector_classes():
            assert set(kind.columns) <= known

    def test_this_very_process(self):
        """Not a fixture: keeps us honest about the kernel the tests run on."""
        available, _ = collectors.available_collectors(Watched(pid=os.getpid()))

        for collector in available:
            assert set(collector.collect()) <= set(collector.columns)
        assert "process_rss_bytes" in {c for one in available for c in one.columns}

    def test_what_a_machine_does_not_offer_is_said(self, tmp_path: Path):
        _, missing = collectors.available_collectors(
            Watched(pid=os.getpid(), root=tmp_path)
        )

        assert [one.what for one in missing] == ["memory of the container"]
