"""Control characters of texts, in a form that no terminal obeys."""

from __future__ import annotations

# Line ends and tabs are layout.
_LAYOUT = "\n\t"
# Marks that change the order in which letters are shown, and line ends of Unicode.
_INVISIBLE = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

VISIBLE: dict[int, str] = {
    **{code: f"^{chr(code ^ 0x40)}" for code in (*range(0x20), 0x7F) if chr(code) not in _LAYOUT},
    **{code: f"M-^{chr(code - 0x40)}" for code in range(0x80, 0xA0)},
    **{ord(mark): f"<U+{ord(mark):04X}>" for mark in _INVISIBLE},
}
"""What is shown in place of each such character, for `str.translate`."""


def visible(text: str) -> str:
    r"""Return a text with its control characters in caret form.

    >>> visible("\x1b[31mred\x7f"), visible("\x9b2J"), visible("abc\u202e\tdef\n")
    ('^[[31mred^?', 'M-^[2J', 'abc<U+202E>\tdef\n')
    """
    return text.translate(VISIBLE)
