"""A Griffe extension that translates rlgo's docstrings for the API reference; mkdocs.yml names it.

rlgo writes ``name : meaning``, since types are in the annotations. numpydoc reads the text after the colon as a type.
So ``name : meaning`` becomes a line with the name and an indented one with the meaning in sections that numpydoc knows,
and an item of a list elsewhere.

Examples stand at the end of a docstring, most of them without a heading, which they get here.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"^([`\w][\w`., \[\]()*:-]*?) : (.*)$")
_KNOWN = {"Parameters", "Other Parameters", "Attributes"}
_OTHER = {"Returns", "Raises", "Yields"}  # left unchanged


def readable(text: str) -> str:
    """Return the docstring in numpydoc's format."""
    lines, section = [], ""
    source = text.split("\n")
    first = next((i for i, line in enumerate(source) if line.startswith(">>> ")), None)
    if first is not None and "Examples" not in source:
        source[first:first] = ["Examples", "--------"]
    i = 0
    while i < len(source):
        line = source[i]
        i += 1
        if i < len(source) and re.fullmatch(r"-{3,}", source[i]):
            section = line
        match = _ENTRY.match(line)
        if not match or section in _OTHER:
            lines.append(line)
            continue
        meaning = [match[2]]
        while i < len(source) and source[i].startswith(" "):
            meaning.append(source[i].strip())
            i += 1
        if section in _KNOWN:  # names that share a meaning have types of their own
            lines += [row for name in match[1].split(", ") for row in (name, f"    {' '.join(meaning)}")]
        else:
            lines += ["", f"* `{match[1]}`: {' '.join(meaning)}", ""]
    return "\n".join(lines)


class ReadableDocstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
