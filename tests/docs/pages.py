"""The pages that people read, taken apart: code blocks, commands and links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")])

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code, and where it is."""

    page: Path
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(language: str | None = None) -> list[Block]:
    """All blocks, or those in that language."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in _BLOCK.finditer(text):
            if language in (None, match[1]):
                line = text.count("\n", 0, match.start()) + 2
                found.append(Block(page, line, match[1], match[2]))
    return found


def fences(page: Path) -> int:
    """How many lines begin or end a block, however they are indented."""
    return sum(line.lstrip().startswith("```") for line in page.read_text().split("\n"))


def inline_commands(*programs: str) -> list[tuple[str, str]]:
    """What stands in the text as code and begins with one of these, with its page."""
    return [
        (str(page.relative_to(ROOT)), " ".join(code.split()))
        for page in PAGES
        for code in _INLINE.findall(_BLOCK.sub("", page.read_text()))
        if code.split(" ")[0] in programs and " " in code
    ]


def commands() -> list[tuple[str, str]]:
    """Every line of every shell block, with its place."""
    found = []
    for block in blocks("sh"):
        for number, line in enumerate(block.code.splitlines()):
            command = re.sub(r"\s+#\s.*$", "", line).strip()
            if command and not command.startswith("#"):
                place = f"{block.page.relative_to(ROOT)}:{block.line + number}"
                found.append((place, command))
    return found


def links(page: Path) -> list[str]:
    """What a page leads to, code aside."""
    return _LINK.findall(_BLOCK.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """The names of its headings, as GitHub makes them."""
    headings = _HEADING.findall(_BLOCK.sub("", page.read_text()))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }
