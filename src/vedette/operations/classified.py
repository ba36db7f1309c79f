"""What kind of page a URL is, by the configured packs and patterns."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.config.model import Config
from vedette.contracts.errors import ConfigError, InputError
from vedette.core.urls.admission import blocked_by
from vedette.core.urls.canonical import host_of
from vedette.core.urls.classify import Classification, RolePattern, classify_url
from vedette.operations.arguments import a_url


def classified(config: Config, url: str, content_type: str | None = None) -> Classification:
    section = config.classify
    try:
        rows = tuple(RolePattern(p.pattern, p.role, p.risk, p.is_hub) for p in section.patterns)
        return classify_url(url, content_type, packs=section.packs, rows=rows)
    except InputError as error:
        raise ConfigError(f"`classify`: {error}") from None


@dataclass(frozen=True, slots=True)
class ClassifiedPage:
    url: str
    said: Classification
    blocked_by: str | None  # the blocked word in its host: it would not be watched


def classify_page(config: Config, url: str, content_type: str | None = None) -> ClassifiedPage:
    """A URL in any spelling, by its words alone."""
    wanted = a_url(url)
    return ClassifiedPage(wanted, classified(config, wanted, content_type), blocked_word(config, wanted))


def blocked_word(config: Config, url: str) -> str | None:
    """The word of `discover.blocked_words` in the host of a URL."""
    return blocked_by(host_of(url), config.discover.blocked_words)


def classified_json(page: ClassifiedPage) -> dict[str, object]:
    said = page.said
    return {
        "url": page.url,
        "node_type": said.node_type.value,
        "role": said.node_role.value if said.node_role else None,
        "risk": said.risk.name,
        "reason": said.reason.code,
        "pattern": said.reason.note,
        "blocked_by": page.blocked_by,
    }
