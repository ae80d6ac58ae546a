"""How well the colours of the report's page stand out from their grounds."""

from __future__ import annotations

TEXT_ON = [
    *((colour, ground) for colour in ("ink", "muted", "after", "accent", "good", "bad") for ground in ("paper", "raised")),
]
"""Pairs of text and ground that the style sheet uses: their contrast is to be at least 4.5."""

SHAPE_ON = [("before", "paper"), ("after", "paper"), ("accent", "paper")]
"""Pairs of line and ground: their contrast is to be at least 3."""


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours ``#rrggbb``, 1 to 21 (WCAG 2)."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
