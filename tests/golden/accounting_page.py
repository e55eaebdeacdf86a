"""The page docs/accountants.md, from the golden file alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

HEAD = """# Other accountants, and the truth

Epsilon for the same releases and the same delta. The truth is computed without any accountant: a formula or an enumeration with
50 digits, or a contour integral. **Bold** marks an answer below the truth by more than a millionth: a number that promises more
privacy than there is. `–` means that the tool has no such release, `inf` and `fails` what they say. Ours is the upper end of the
bracket with default settings; every other tool runs with its defaults too (prv-accountant: an error in epsilon of 0.01 and in
delta of delta/1000, its upper bound).

Made by `python3 dev.py golden`; `tests/golden/test_accounting.py` holds ours against truth and peers.
"""


def rendered(found: Mapping[str, Any]) -> str:
    """The whole page."""
    tools = found["tools"]
    used = ", ".join(dict.fromkeys(f"{about['package']} {about['version']}" for about in tools.values()))
    note = "opacus is installed without its dependencies; its analysis modules need NumPy and SciPy only."
    lines = [HEAD, f"Versions: {used}. {note}", ""]
    lines += [f"Left out: {tool}, {reason}." for tool, reason in found["left out"].items()]
    lines.append("| releases | delta | truth | deniable | " + " | ".join(tools) + " |")
    lines.append("|---|" + "--:|" * (len(tools) + 3))
    below = 0
    for row in found["cases"]:
        ours = found["ours"][row["id"]]
        cells = [_cell(about["epsilon"].get(row["id"]), row["truth"]) for about in tools.values()]
        below += sum(cell.startswith("**") for cell in cells)
        lines.append(
            f"| {row['id']} | {row['delta']:g} | {row['truth']:.6g} | {_up(ours)} | " + " | ".join(cells) + " |"
        )
    lines += ["", f"{below} of these answers are below the truth; none of ours is.", ""]
    return "\n".join(lines)


def _up(value: float) -> str:
    """Six digits, never fewer than the number."""
    text = f"{value:.6g}"
    if float(text) < value:
        text = f"{value + 0.5 * 10 ** (math.floor(math.log10(value)) - 5):.6g}"
    return text


def _cell(value: Any, truth: float) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value if value in ("inf", "nan") else "fails"
    return f"**{value:.6g}**" if value < truth * (1 - 1e-6) else f"{value:.6g}"
