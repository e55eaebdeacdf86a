"""A calm HTML form for notebooks: a table and a few lines, in the reader's own colours, so that light and dark both work.

No colour of its own but a grey that is half transparent; wide tables scroll inside the card instead of widening the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_GREY = "rgba(128,128,128,.35)"
_STYLE = (
    "<style>.dn-card{font:13px/1.5 system-ui,sans-serif;color:inherit;max-width:100%}"
    ".dn-card .dn-scroll{overflow-x:auto}"
    ".dn-card table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0}"
    f".dn-card th,.dn-card td{{padding:3px 12px 3px 0;border:0;border-bottom:1px solid {_GREY};text-align:right;"
    "white-space:nowrap;vertical-align:top;background:none;color:inherit}"
    ".dn-card th{font-weight:600}.dn-card .dn-key{text-align:left}.dn-card .dn-words{text-align:left;white-space:normal}"
    ".dn-card p,.dn-card summary,.dn-card pre{margin:6px 0 0;opacity:.75;font-size:12px}"
    ".dn-card pre{overflow-x:auto}</style>"
)


def html_card(*parts: str) -> str:
    """Parts that are HTML already, as one card."""
    return f'<div class="dn-card">{_STYLE}{"".join(parts)}</div>'


def html_table(names: Sequence[str], rows: Iterable[Sequence[str]], *, keys: int) -> str:
    """Cells in words: the first `keys` columns are names, on the left, the others numbers, on the right."""
    head = "".join(f"<th{_kind(i < keys)}>{escape(name)}</th>" for i, name in enumerate(names))
    body = "".join(
        "<tr>" + "".join(f"<td{_kind(i < keys)}>{escape(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="dn-scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def html_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """What each thing is: a name on the left and words beside it."""
    rows = "".join(
        f'<tr><th class="dn-key">{escape(name)}</th><td class="dn-words">{escape(words)}</td></tr>'
        for name, words in pairs
    )
    return f'<div class="dn-scroll"><table><tbody>{rows}</tbody></table></div>'


def html_lines(lines: Iterable[str]) -> str:
    """Sentences below a table."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def html_folded(title: str, text: str) -> str:
    """Text that opens when it is asked for."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _kind(key: bool) -> str:
    return ' class="dn-key"' if key else ""
