"""What a source sends to be let in: headers, cookies, a name with a password, a body.  Secrets are only named here.

A file, a store, an export and a backup hold `env:NAME`; the value is read when a request is made ready, and goes out
in no other way.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit

from vedette.config.model import is_set_in_environment, secret
from vedette.config.values import ENV, POST_TYPES
from vedette.contracts.errors import ConfigError
from vedette.contracts.words import Secret

LEAST = 4  # characters of a secret that is looked for in answers; a shorter one stands in any page
# Headers that let somebody in.  A value that is written out would be in the store and in every export.
SECRET_HEADERS = frozenset(
    "authorization cookie proxy-authorization x-api-key api-key apikey x-auth-token x-access-token".split()
)


def check_credentials(fetch: Mapping[str, Any], where: str) -> None:
    """Raises ConfigError for a secret that is written out."""
    for name, value in fetch.get("headers") or ():
        if name.lower() in SECRET_HEADERS and not value.startswith(ENV):
            raise ConfigError(
                f"{where}fetch.headers.{name}: it lets somebody in, and would be in the store and in exports; "
                f"put it into an environment variable and write env:VARIABLE"
            )
    for name, value in fetch.get("cookies") or ():
        if not value.startswith(ENV):
            raise ConfigError(
                f"{where}fetch.cookies.{name}: its value comes from the environment; write env:VARIABLE"
            )
        if not _is_token(name):
            raise ConfigError(f"{where}fetch.cookies.{name}: no cookie can have this name")
    proxy = fetch.get("proxy") or ""
    if not proxy.startswith(ENV) and _password(proxy):
        raise ConfigError(
            f"{where}fetch.proxy: a password in it would be in the store; put the whole address into an "
            f"environment variable and write env:VARIABLE"
        )


def with_credentials(values: dict[str, Any]) -> dict[str, Any]:
    """Settings of `fetch` as a request needs them, with every secret in its place and all of them by themselves."""
    found = dict(values)
    headers = [(name, secret(value)) for name, value in found.pop("headers", ())]
    cookies = [
        (name, secret(value, f"the cookie {name} of `fetch`")) for name, value in found.pop("cookies", ())
    ]
    if cookies:
        told = [value for name, value in headers if name.lower() == "cookie"]
        headers = [(name, value) for name, value in headers if name.lower() != "cookie"]
        headers.append(
            ("Cookie", Secret("; ".join([*told, *(f"{name}={value}" for name, value in cookies)])))
        )
    basic = found.pop("basic_auth", None)
    if basic is not None:
        headers = [(name, value) for name, value in headers if name.lower() != "authorization"]
        headers.append(("Authorization", _basic(basic)))
    if found.get("proxy"):
        found["proxy"] = secret(found["proxy"], "`fetch.proxy`")
    if found.get("post"):
        found["post"], found["post_type"] = _body(found["post"])
    found["headers"] = tuple(headers)
    found["secrets"] = tuple(sorted(set(_kept_from_answers(values))))
    return found


def variables(values: Mapping[str, Any]) -> Iterator[str]:
    """Every `env:NAME` in settings of `fetch`."""
    for name, value in values.items():
        if name == "basic_auth" and value:
            yield from _named(value.partition(":")[2])
        else:
            yield from _named(json.loads(value) if name == "post" and value else value)


def missing_variables(values: Mapping[str, Any]) -> list[str]:
    """The variables that settings of `fetch` name and that are not set in this environment."""
    return sorted({name for name in variables(values) if not is_set_in_environment(f"{ENV}{name}")})


def _basic(text: str) -> Secret:
    user, _, name = text.partition(":")
    whole = f"{user}:{secret(name, 'the password of `fetch.basic_auth`')}"
    return Secret(f"Basic {base64.b64encode(whole.encode()).decode()}")


def _body(text: str) -> tuple[bytes, str]:
    said = json.loads(text)
    kind = next(kind for kind in POST_TYPES if kind in said)
    given = _resolved(said[kind])
    content_type = str(said.get("type", POST_TYPES[kind]))
    if kind == "json":
        return json.dumps(given, ensure_ascii=False).encode(), content_type
    return (urlencode(given) if kind == "form" else str(given)).encode(), content_type


def _resolved(value: Any) -> Any:
    if isinstance(value, str):
        return secret(value, "`fetch.post`")
    if isinstance(value, Mapping):
        return {name: _resolved(one) for name, one in value.items()}
    return [_resolved(one) for one in value] if isinstance(value, list) else value


def _kept_from_answers(values: Mapping[str, Any]) -> Iterator[str]:
    """Every secret, in the spellings that an answer could repeat."""
    for name in set(variables(values)):
        value = secret(f"{ENV}{name}")
        spelled = {value, quote(value, safe=""), quote_plus(value), base64.b64encode(value.encode()).decode()}
        spelled |= {html.escape(value), html.escape(value, quote=False)}
        spelled |= {json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
        password = _password(value)
        spelled |= {password} if password else set()
        yield from (Secret(one) for one in spelled if len(one) >= LEAST)
    if values.get("basic_auth"):
        yield Secret(_basic(values["basic_auth"]).removeprefix("Basic "))


def _password(address: str) -> str | None:
    """The password inside an address.  None also where it is no address: whoever uses it says so."""
    try:
        return urlsplit(address).password if "://" in address else None
    except ValueError:
        return None


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith(ENV):
            yield value.removeprefix(ENV)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _named(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _named(one)


def _is_token(name: str) -> bool:
    """RFC 6265: a token."""
    return bool(name) and all(
        char.isascii() and (char.isalnum() or char in "!#$%&'*+-.^_`|~") for char in name
    )
