"""`tb-health completion`: a script that completes the command line in a shell."""

import argparse
import sys
from typing import Any

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_tb_health() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
    if [ "$COMP_CWORD" -gt 1 ] && [[ $current != -* ]]; then
        COMPREPLY+=( $(compgen -f -- "$current") )
    fi
}}
complete -o filenames -F _tb_health tb-health
"""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print a script that completes tb-health in your shell",
        description="For bash or zsh: source <(tb-health completion bash). "
        "For fish: tb-health completion fish | source",
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(call=_call, commands=commands)


def _call(options: argparse.Namespace) -> int:
    sys.stdout.write(script(options.shell, options.commands.choices))
    return 0


def script(shell: str, commands: dict[str, argparse.ArgumentParser]) -> str:
    """The script for one shell.

    Args:
        shell: One of `SHELLS`.
        commands: Every command with its parser.
    """
    words = {name: _words(parser) for name, parser in commands.items()}
    if shell == "fish":
        return _fish(words)
    cases = "\n".join(
        f'            {name}) words="{" ".join(found)}" ;;'
        for name, found in words.items()
    )
    made = _BASH.format(commands=" ".join(words), cases=cases)
    if shell == "zsh":
        # Zsh understands the script of bash once it is told to.
        made = f"autoload -U bashcompinit && bashcompinit\n{made}"
    return made


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Options of a command, and words that an argument may be."""
    found: list[str] = []
    for action in parser._actions:  # the only list there is of them
        found += [option for option in action.option_strings if option != "-h"]
        found += map(str, action.choices or ())
    return found


def _fish(words: dict[str, list[str]]) -> str:
    lines = [
        f"complete -c tb-health -n __fish_use_subcommand -f -a '{' '.join(words)}'"
    ]
    for name, found in words.items():
        lines.append(
            f"complete -c tb-health -n '__fish_seen_subcommand_from {name}' "
            f"-a '{' '.join(found)}'"
        )
    return "\n".join(lines) + "\n"
