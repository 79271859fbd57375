"""Takes passwords, keys and tokens out of text before it is written anywhere.

Tracebacks, warnings, the end of standard error and settings are recorded, and any of
them may hold a secret. What looks like one is replaced; the words around it stay, so
that the text can still be read.
"""

import re

HIDDEN = "***"

# Forms that are a secret by themselves, with what is kept in front of them.
_FORMS = (
    r"AKIA[0-9A-Z]{16}",  # Amazon
    r"AIza[0-9A-Za-z_-]{35}",  # Google
    r"gh[pousr]_[0-9A-Za-z]{36,}",  # GitHub
    r"github_pat_[0-9A-Za-z_]{22,}",
    r"glpat-[0-9A-Za-z_-]{20,}",  # GitLab
    r"hf_[0-9A-Za-z]{30,}",  # Hugging Face
    r"sk-[0-9A-Za-z_-]{20,}",  # several makers of models
    r"xox[abeoprs]-[0-9A-Za-z-]{10,}",  # Slack
    r"eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}",  # JSON web tokens
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*KEY-----|\Z)",
)
_FORM = re.compile(r"(?<![0-9A-Za-z_])(?:" + "|".join(_FORMS) + ")")
# https://user:password@host
_IN_ADDRESS = re.compile(r"(\b[a-zA-Z][\w+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]{1,200}@")
# Authorization: Bearer abc
_IN_HEADER = re.compile(
    r"(\b(?:Bearer|Basic|Token)\s+)[0-9A-Za-z._~+/=-]{16,}", re.IGNORECASE
)
# password=abc, "api_key": "abc", --token abc
_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"auth[_-]?token|access[_-]?token|token|credentials?)"
)
_NAMED = re.compile(
    rf"(\b[\w.-]{{0,60}}{_NAME}[\"']?(?:\s*[:=]\s*|\s+))"
    r"(?:([\"'])[^\"'\n]{4,400}\2|"
    # Without quotes it must look like one: not a call, not a plain word.
    r"(?=[^\s\"',;()\[\]]*[0-9])[^\s\"',;()\[\]]{8,400}(?![\w(\[.]))",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(rf"(?:^|[_.-]){_NAME}$", re.IGNORECASE)
# Without any of these there is nothing to look for; most texts have none.
_HINT = re.compile(
    rf"{_NAME}|AKIA|AIza|gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox|eyJ|PRIVATE KEY|"
    r"://|bearer|basic",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The same text, with `***` in the place of each secret."""
    if not _HINT.search(text):
        return text
    text = _FORM.sub(HIDDEN, text)
    text = _IN_ADDRESS.sub(rf"\1{HIDDEN}@", text)
    text = _IN_HEADER.sub(rf"\1{HIDDEN}", text)
    return _NAMED.sub(rf"\1{HIDDEN}", text)


def masked_setting(name: str, value: str) -> str:
    """The value of a setting; all of it is hidden if its name says so."""
    return HIDDEN if value and _SECRET_NAME.search(name) else masked(value)
