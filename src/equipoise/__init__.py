"""Equipoise builds heads-up hold'em agents, proves how exploitable they are, and plays them.

The library behind the command line: each command is one call of a function here. `__init__.pyi` lists the names by
topic. They are imported when they are first used, so that `import equipoise` is quick.

>>> import equipoise
>>> equipoise.load_game("leduc").deck.size
6
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
