"""`python -m vedette` is the command line."""

import sys

from vedette.surface.cli import main

if __name__ == "__main__":
    sys.exit(main())
