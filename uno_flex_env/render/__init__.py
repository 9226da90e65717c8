"""Renderers: what one seat or a spectator sees, as text, as a picture, and in a window.

`Table.from_state` makes a table. It holds all hands, but the renderers show only the viewing seat's cards. For the
other hands they show the number of cards.

Pictures need pygame (`pip install uno-flex-env[render]`), which is imported when the first picture is drawn.
"""

from uno_flex_env.render.ansi import ansi
from uno_flex_env.render.picture import picture
from uno_flex_env.render.table import Table
from uno_flex_env.render.window import Window

__all__ = ["Table", "Window", "ansi", "picture"]
