"""Whatever is diagnosed in these tests: its lines to paste can be pasted."""

from collections.abc import Iterator
from typing import Any

import pytest

from tb_health_plugin.diagnosis.verdict import Verdict
from tests.pasted import problem


@pytest.fixture(scope="module", autouse=True)
def lines_to_paste_can_be_pasted() -> Iterator[None]:
    """Looks at every verdict that a test makes, and complains at the end."""
    made = Verdict.__init__
    found: dict[str, str | None] = {}

    def make(self: Verdict, **fields: Any) -> None:
        made(self, **fields)
        for fix in self.fixes:
            if fix.code is not None and fix.code not in found:
                found[fix.code] = problem(fix.code)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verdict, "__init__", make)
        yield
    assert {code: why for code, why in found.items() if why} == {}
