"""`tb-health completion`: what a real shell makes of it."""

import shutil
import subprocess

import pytest

from tb_health_plugin.cli.main import HEALTHY, main


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
    program += '_tb_health; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture
def bash(capsys) -> str:
    assert main(["completion", "bash"]) == HEALTHY
    return str(capsys.readouterr().out)


def test_commands_and_their_options(bash: str):
    assert completed(bash, "tb-health", "wh") == ["why"]
    given = ["--help", "--run", "--json", "--rules"]
    assert completed(bash, "tb-health", "why", "--") == given
    assert completed(bash, "tb-health", "completion", "zs") == ["zsh"]


def test_directories(bash: str, tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)

    assert completed(bash, "tb-health", "why", "lo") == ["logs"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command(shell: str, capsys):
    assert main(["completion", shell]) == HEALTHY

    said = capsys.readouterr().out
    assert "why list show watch" in said
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=said, text=True, check=True)
