"""The stages after the look: is it worth anything more, who reads it, what text and what vector it has."""

from vedette.judge.handlers import Bench, Handle, handlers

__all__ = ["Bench", "Handle", "handlers"]
