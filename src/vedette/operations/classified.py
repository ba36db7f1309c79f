"""What kind of page a URL is, by the configured packs and patterns."""

from __future__ import annotations

from vedette.config.model import Config
from vedette.contracts.errors import ConfigError, InputError
from vedette.core.urls.classify import Classification, classify_url
from vedette.core.urls.word_packs import RolePattern


def classified(config: Config, url: str, content_type: str | None = None) -> Classification:
    section = config.classify
    try:
        rows = tuple(RolePattern(p.pattern, p.role, p.risk, p.is_hub) for p in section.patterns)
        return classify_url(url, content_type, packs=section.packs, rows=rows)
    except InputError as error:
        raise ConfigError(f"`classify`: {error}") from None


def classified_json(url: str, said: Classification, blocked_by: str | None) -> dict[str, object]:
    """`blocked_by`: the blocked word in its host."""
    return {
        "url": url,
        "node_type": said.node_type.value,
        "role": said.node_role.value if said.node_role else None,
        "risk": said.risk.name,
        "reason": said.reason.code,
        "pattern": said.reason.note,
        "blocked_by": blocked_by,
    }
