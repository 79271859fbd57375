"""Bytes of the network count for a program only if it can have moved them."""

from pathlib import Path

import pytest

from tb_health_plugin.watching.network_use import may_use_network

LOCAL = "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
NFS = "25 24 0:40 / /data rw,relatime shared:2 - nfs4 server:/data rw,vers=4.2\n"
GCS = "26 24 0:41 / /bucket rw,nosuid - fuse.gcsfuse bucket rw,user_id=0\n"
LXCFS = "27 24 0:42 / /var/lib/lxcfs rw,nosuid - fuse.lxcfs lxcfs rw,user_id=0\n"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n"


def connection(remote: str, state: str = "01", inode: int = 777) -> str:
    return (
        f"   0: 0A00000A:C350 {remote} {state} 00000000:00000000 00:00000000 00000000 "
        f"    0        0 {inode} 1 0000000000000000 20 4 30 10 -1\n"
    )


class Machine:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc/7/net").mkdir(parents=True)
        (root / "proc/7/fd").mkdir()
        self.mounts(LOCAL)

    def mounts(self, text: str) -> None:
        (self.root / "proc/7/mountinfo").write_text(text)

    def connections(self, text: str) -> None:
        (self.root / "proc/7/net/tcp").write_text(HEAD + text)

    def opens(self, inode: int) -> None:
        (self.root / "proc/7/fd/3").symlink_to(f"socket:[{inode}]")

    def may(self) -> bool:
        return may_use_network(7, self.root)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class TestMayHaveMovedThem:
    def test_with_a_connection_of_its_own(self, machine: Machine):
        machine.connections(connection("0100A8C0:01BB"))
        machine.opens(777)

        assert machine.may()

    @pytest.mark.parametrize("mount", [NFS, GCS])
    def test_with_files_from_afar(self, machine: Machine, mount: str):
        machine.mounts(LOCAL + mount)

        assert machine.may()

    def test_if_nobody_tells(self, machine: Machine):
        (machine.root / "proc/7/mountinfo").unlink()

        assert machine.may()


class TestCannotHaveMovedThem:
    def test_without_any_connection(self, machine: Machine):
        machine.mounts(LOCAL + LXCFS)

        assert not machine.may()

    def test_the_connection_of_another_program(self, machine: Machine):
        machine.connections(connection("0100A8C0:01BB", inode=778))
        machine.opens(777)

        assert not machine.may()

    def test_a_connection_to_the_machine_itself(self, machine: Machine):
        machine.connections(connection("0100007F:01BB"))
        machine.opens(777)

        assert not machine.may()

    def test_a_socket_that_waits_for_others(self, machine: Machine):
        machine.connections(connection("00000000:0000", state="0A"))
        machine.opens(777)

        assert not machine.may()
