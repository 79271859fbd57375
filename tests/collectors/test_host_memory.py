"""Memory of the machine, from the kernel's own text."""

from tb_health_plugin.collectors.host_memory import HostMemory, parse_meminfo

MEMINFO = (
    "MemTotal:       1000 kB\nMemFree: 100 kB\nMemAvailable:    400 kB\n"
    "SwapTotal:       200 kB\nSwapFree:        150 kB\n"
)


def test_used_is_what_cannot_be_given_away():
    assert parse_meminfo(MEMINFO) == {
        "host_memory_total_bytes": 1000.0 * 1024,
        "host_memory_used_bytes": 600.0 * 1024,
        "host_swap_total_bytes": 200.0 * 1024,
        "host_swap_used_bytes": 50.0 * 1024,
    }


def test_an_old_kernel_does_not_tell_what_is_available():
    assert "host_memory_used_bytes" not in parse_meminfo("MemTotal: 1000 kB\n")


def test_without_proc_psutil_is_asked(machine):
    reading = HostMemory(machine({})).collect()

    assert set(reading) == set(HostMemory.columns)
    assert reading["host_memory_total_bytes"] > 0
