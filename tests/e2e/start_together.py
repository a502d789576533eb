"""`python -m tests.e2e.start_together FD serve …`: all is imported, then FD's end of file starts the command.

As many as wait on one pipe start at the same moment, and not one after the other as their imports end.
"""

from __future__ import annotations

import os
import sys

import webhook.commands.serve  # noqa: F401 (so that nothing is left to be imported)
from webhook.cli import main

if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    print("waiting", flush=True)
    os.read(descriptor, 1)
    main(sys.argv[2:], prog_name="custom-scheduler")
