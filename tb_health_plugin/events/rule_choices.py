"""How a user silences a rule or tunes a number of it: one form, for all who ask.

A mapping with `"overfitting": "off"` for a rule that shall say nothing, and
`"input_bound.warning_share": 0.8` for a number of a rule. `"overfitting": "on"` takes
an earlier "off" back. The same mapping is given to `HealthCallback(rules=...)` and
`watch(rules=...)`, to `diagnose(rules=...)`, and stands in a file `health_rules.json`.
"""

import json
import math
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OFF, ON = "off", "on"

# In the log directory that is read, or in the one of a run. The inner one counts.
RULES_FILE = "health_rules.json"

# Numbers that may be set, by rule. The trainer never loads the rules themselves; a test
# holds this against them.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "cpu_limited": ("few_cores",),
    "disk_slow": ("least_share",),
    "gpu_throttled": ("least_share",),
    "handle_limit": ("near",),
    "input_bound": ("warning_share",),
    "label_problem": ("rare_share",),
    "memory_leak": ("least_growth_share",),
    "overfitting": ("clear_rise",),
    "retracing": ("fewest_traces",),
    "slow_callback": ("warning_share",),
    "slow_step": ("slower",),
    "swap_thrash": ("least_share",),
    "undertrained": ("late_gain",),
    "unscaled_data": ("large_input", "large_target"),
    "vanishing_gradients": ("faded",),
}


class BadRules(ValueError):
    """What was asked of rules cannot be done; the message is for the user."""


def rule_ids() -> frozenset[str]:
    """Every rule there is: the names of their files. None of them is loaded."""
    folder = Path(__file__).parents[1] / "diagnosis" / "rules"
    return frozenset(module.name for module in pkgutil.iter_modules([str(folder)]))


def checked(given: Any) -> dict[str, str]:
    """The same as plain text, as it is recorded.

    Raises:
        BadRules: A rule or a number that there is not, or a value that makes no sense.
    """
    if not isinstance(given, Mapping):
        raise BadRules(
            f"rules={given!r} must be a mapping, as in "
            '{"overfitting": "off", "input_bound.warning_share": 0.8}'
        )
    return {str(name): _value(str(name), value) for name, value in given.items()}


def parsed(text: str) -> dict[str, str]:
    """The form of a command line: `overfitting=off,input_bound.warning_share=0.8`.

    Raises:
        BadRules: See `checked`.
    """
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    return checked({name.strip(): value.strip() for name, _, value in pairs})


def loaded(text: str) -> dict[str, str]:
    """What a `health_rules.json` says.

    Raises:
        BadRules: It is not JSON, or see `checked`.
    """
    try:
        return checked(json.loads(text))
    except json.JSONDecodeError as error:
        raise BadRules(f"not JSON: {error}") from None
    except RecursionError:
        raise BadRules("not a mapping of names: it is nested too deeply") from None


def _value(name: str, value: Any) -> str:
    rule, _, option = name.partition(".")
    if rule not in rule_ids():
        raise BadRules(f"no rule is called {rule!r}; `tb-health explain` lists them")
    if not option:
        if value not in (OFF, ON):
            raise BadRules(f'{rule}: expected "off" or "on", not {value!r}')
        return str(value)
    numbers = OPTIONS.get(rule, ())
    if option not in numbers:
        known = ", ".join(f"{rule}.{one}" for one in numbers) or "none"
        raise BadRules(f"no number is called {name!r}; {rule} has: {known}")
    return _number(name, value)


def _number(name: str, value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number < 0:
        raise BadRules(f"{name}: expected a number of 0 or more, not {value!r}")
    return repr(number)
