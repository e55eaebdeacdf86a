"""A self-contained HTML page: no script, no font and no picture from elsewhere, text escaped, tables and figures with captions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from deniable.errors import InvalidArgument
from deniable.svg import Figure

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; background: #ffffff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2rem } h3 { font-size: 1.05rem }
table { border-collapse: collapse; margin: .6rem 0; font-size: .95em }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { border: 1px solid #8a929b; padding: .3rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { background: #eef1f4 }
.columns { display: flex; flex-wrap: wrap; gap: 1.2rem }
.columns > section { flex: 1 1 16rem; min-width: 0 }
svg { max-width: 100%; height: auto } .block { border-left: .4rem solid #a3320b; padding: .2rem .8rem; background: #fdf1ec }
.label { border: 2px solid #1b1f24; padding: .6rem 1rem; max-width: 22rem } figure { margin: 1rem 0 }
@media print { body { margin: 0; max-width: none } h2 { break-after: avoid } table, figure { break-inside: avoid } }
"""
"""The look of every page."""


def page(title: str, *parts: str) -> str:
    """A whole document; `parts` are HTML."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
        f"<body><main><h1>{escape(title)}</h1>\n{body}\n</main></body></html>\n"
    )


def table(rows: Iterable[Sequence[object]], *, head: Sequence[str], caption: str) -> str:
    """Rows under column heads; every cell is escaped text."""
    heads = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def figure(drawing: Figure, caption: str) -> str:
    """A drawing with its caption."""
    return f"<figure>{drawing.svg}<figcaption>{escape(caption)}</figcaption></figure>"


def paragraphs(lines: Iterable[str]) -> str:
    """One paragraph each, escaped."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list, escaped."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text, written to `path` if one is given."""
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InvalidArgument(f"cannot write {path}: {error.strerror}") from None
    return text
