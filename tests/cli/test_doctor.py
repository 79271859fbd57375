"""`tb-health doctor`: what can be measured here, and how to get the rest."""

import importlib.metadata
import json
from pathlib import Path

from tb_health_plugin.cli import doctor
from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, main


def by_name(logdir: Path | None = None) -> dict[str, doctor.Check]:
    return {check.what: check for check in doctor.examine(logdir)}


def test_versions_sources_and_the_tab_are_told(capsys):
    assert main(["doctor"]) == HEALTHY

    said = capsys.readouterr().out
    assert f"tensorboard {importlib.metadata.version('tensorboard')}" in _joined(said)
    assert "tab in TensorBoard registered" in _joined(said)
    assert "memory of the machine measured" in _joined(said)


def _joined(text: str) -> str:
    return " ".join(text.split())


def test_json_says_what_is_missing_and_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    monkeypatch.setattr(doctor.sys, "executable", "/nowhere/python")

    assert main(["doctor", "--json"]) == HEALTHY
    checks = {one["what"]: one for one in json.loads(capsys.readouterr().out)}
    assert checks["native frames of a hang (py-spy)"] == {
        "what": "native frames of a hang (py-spy)",
        "state": "missing",
        "found": "not installed",
        "enable": "pip install 'tensorboard-plugin-health[stacks]'",
    }


def test_who_may_not_look_into_other_processes_is_told(tmp_path: Path, monkeypatch):
    scope = tmp_path / "proc/sys/kernel/yama/ptrace_scope"
    scope.parent.mkdir(parents=True)
    scope.write_text("1\n")
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "/bin/py-spy")

    check = doctor._py_spy(tmp_path)

    assert check.state == "missing"
    assert check.enable == "sudo sysctl kernel.yama.ptrace_scope=0"


def test_an_old_kernel_is_told_what_the_launcher_can_do(monkeypatch):
    monkeypatch.setattr(doctor.platform, "release", lambda: "5.15.0-91-generic")

    assert "tb-health run" in (doctor._exit_status().enable or "")


def test_a_log_directory_is_tried(tmp_path: Path, capsys):
    assert by_name(tmp_path)[f"log directory {tmp_path}"].state == "ok"
    (tmp_path / "file").touch()

    assert main(["doctor", str(tmp_path / "file")]) == PROBLEM_FOUND
    assert "choose another one" in capsys.readouterr().out


def test_a_log_directory_that_is_not_there_is_not_made(tmp_path: Path):
    missing = tmp_path / "a/b"

    (check,) = [c for c in by_name(missing).values() if "log directory" in c.what]

    assert check.state == "ok"
    assert "is not there yet, and can be made" in check.found
    assert not (tmp_path / "a").exists()


def test_a_tab_that_cannot_be_loaded_is_broken(monkeypatch):
    monkeypatch.setattr(doctor, "PLUGIN_NAME", "no such plugin")

    assert by_name()["tab in TensorBoard"].state == "broken"


def test_an_object_store_is_not_written_to(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["doctor", "s3://bucket/logs"]) == 1
    assert "is on an object store" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
