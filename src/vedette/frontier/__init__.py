"""What to look at next: one queue per lane, filled from the store a few at a time."""

from vedette.frontier.queue import Frontier

__all__ = ["Frontier"]
