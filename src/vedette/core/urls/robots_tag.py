"""What an X-Robots-Tag header says about links.  The same words as in a robots meta element, also for one bot only."""

from __future__ import annotations

from collections.abc import Iterable

# Directives that carry a value after a colon; any other word before a colon is the name of a bot.
WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


def says_nofollow(tags: Iterable[str], agent: str) -> bool:
    """Does any of these headers ask us, or everyone, not to follow the links of the page?"""
    return any(
        word in ("nofollow", "none")
        for tag in tags
        for name, word in _words(tag)
        if name in ("", "*", agent.lower())
    )


def _words(tag: str) -> Iterable[tuple[str, str]]:
    """Each directive with the bot it is for; a name stands until the next name in the same header."""
    name = ""
    for part in tag.lower().split(","):
        before, colon, after = part.partition(":")
        if colon and before.strip() not in WITH_VALUE:
            name, part = before.strip(), after
        for word in part.split():
            yield name, word
