"""The stages after the look: is it worth anything more, who reads it, what text and what vector it has."""

from vedette.judge.handlers import EvidenceReader, Handle, handlers, nothing

__all__ = ["EvidenceReader", "Handle", "handlers", "nothing"]
