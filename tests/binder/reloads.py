"""A hundred reloads in an interpreter of their own, where nothing else allocates: prints the bytes that they leave."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from pathlib import Path

from tests.binder.test_plugins import Place, replaced
from webhook.binder.plugins import Plugins
from webhook.scheduling.testing import make_cache, make_node

# What is kept once, like compiled patterns, is there by then.
WARM_UP = 20


def main(folder: Path) -> None:
    place = Place(folder)
    place.write("a.py", "Acme", "0")
    place.enable("Acme")
    plugins = Plugins(place.configuration)
    frameworks = plugins.build(make_cache(make_node("node")), random.Random(0))
    tracemalloc.start()
    before = 0
    for number in range(1, WARM_UP + 101):
        place.write("a.py", "Acme", str(number))
        frameworks = dict(replaced(frameworks, plugins))
        if number == WARM_UP:
            before = _allocated()
    print(_allocated() - before)


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
