"""What one seat, or a spectator, sees of a table: as text, as a picture, and in a window.

A table is a plain dict: a snapshot (rules 11) with `players` (how many), `dealer`, `scores` (a whole number for each
seat, or None outside a match), `target_score`, `last` (None, or a pair of a seat and the action that it took last) and
`names`. It holds all hands, but only the looking seat's cards are drawn; the others are counted.

Pictures need pygame (`pip install uno-flex-env[render]`), which is imported when the first one is drawn.
"""

from uno_flex_env.render.ansi import ansi
from uno_flex_env.render.picture import picture
from uno_flex_env.render.window import Window

__all__ = ["Window", "ansi", "picture"]
