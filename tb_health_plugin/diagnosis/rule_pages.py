"""The user's page of each verdict, in the same four sections, as text and as Markdown.

A rule's page is the docstring of its module. Ends that no rule tells have theirs in
`ending_pages.py`.
"""

import re
import textwrap
from dataclasses import dataclass

from tb_health_plugin.diagnosis.ending_pages import ENDINGS
from tb_health_plugin.diagnosis.official_docs import Doc, official
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rules import all_rules, explanations

SECTIONS = ("What it means", "How we know", "What it is mistaken for", "What to do")

_READ_ON = "Read on"
_WIDTH = 80
# "**What it means.** text", or the title on a line of its own above indented text.
_TITLE = re.compile(
    rf"^(?:\*\*)?({'|'.join(SECTIONS)})(?:\.\*\*[ \n]|\n)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a verdict means.

    Attributes:
        id: The verdict.
        title: In one sentence.
        sections: Text by the titles of `SECTIONS`; paragraphs and tables as written.
        options: Numbers that users may tune.
        docs: Official pages about it.
    """

    id: str
    title: str
    sections: dict[str, str]
    options: tuple[Option, ...] = ()
    docs: tuple[Doc, ...] = ()


def pages() -> dict[str, Page]:
    """Every page there is, by id; rules first."""
    options = {rule.id: rule.options for rule in all_rules()}
    texts = {**explanations()}
    texts.update((id, text) for id, text in ENDINGS.items() if id not in texts)
    return {id: _page(id, text, options.get(id, ())) for id, text in texts.items()}


def as_text(page: Page) -> str:
    """For a terminal."""
    parts = [page.title]
    for title, text in page.sections.items():
        shown = [_filled(block, _WIDTH, "  ") for block in text.split("\n\n")]
        parts.append(f"{title}\n" + "\n\n".join(shown))
    if page.options:
        lines = [_option_line(page.id, option) for option in page.options]
        shown = [_filled(line, _WIDTH, "  ") for line in lines]
        parts.append("Numbers you may set\n" + "\n".join(shown))
    if page.docs:
        lines = [f"  {doc.name}\n    {doc.url}" for doc in page.docs]
        parts.append(f"{_READ_ON}\n" + "\n".join(lines))
    return "\n\n".join(parts)


def as_markdown(page: Page) -> str:
    """For `docs/rules.md`."""
    parts = [f"## {page.id}", page.title]
    parts += [f"**{title}.** {text}" for title, text in page.sections.items()]
    if page.options:
        lines = [f"* `{_option_line(page.id, option)}" for option in page.options]
        lines = [line.replace(":", "`:", 1) for line in lines]
        parts.append("**Numbers you may set.**\n\n" + "\n".join(lines))
    if page.docs:
        links = [f"[{doc.name}]({doc.url})" for doc in page.docs]
        parts.append(f"**{_READ_ON}.** {'; '.join(links)}.")
    return "\n\n".join(parts)


def _option_line(id: str, option: Option) -> str:
    return f"{id}.{option.name}: {option.meaning} Usually {option.default:g}."


def _page(id: str, text: str, options: tuple[Option, ...]) -> Page:
    title, *rest = _TITLE.split(text.strip())
    sections = {
        name: textwrap.dedent(body.rstrip()).strip("\n")
        for name, body in zip(rest[::2], rest[1::2], strict=True)
    }
    return Page(id, " ".join(title.split()), sections, options, official(id))


def _filled(block: str, width: int, indent: str) -> str:
    if block.startswith("|"):
        # A table keeps its lines.
        return textwrap.indent(block, indent)
    return textwrap.fill(
        " ".join(block.split()), width, initial_indent=indent, subsequent_indent=indent
    )
