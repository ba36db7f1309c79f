"""`python -m vedette` is the command line."""

from vedette.surface.cli import main

if __name__ == "__main__":
    main()
