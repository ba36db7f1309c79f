from __future__ import annotations

import pytest

from vedette.core.urls.admission import says_nofollow


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ((), False),
        (("noindex",), False),
        (("nofollow",), True),
        (("NOINDEX, NoFollow",), True),
        (("none",), True),
        (("noarchive", "nofollow"), True),
        (("googlebot: nofollow",), False),
        (("vedette: nofollow",), True),
        (("*: nofollow",), True),
        (("otherbot: noindex, nofollow",), False),
        (("otherbot: noindex, vedette: nofollow",), True),
        (("vedette: noindex, otherbot: nofollow",), False),
        (("unavailable_after: 25 Jun 2027 15:00:00 GMT, nofollow",), True),
        (("max-snippet: 20, noindex",), False),
        ((":,:,,  :nofollow:",), False),
    ],
)
def test_a_header_speaks_to_everyone_or_to_the_bot_that_it_names(tags: tuple[str, ...], said: bool):
    assert says_nofollow(tags, "Vedette") is said
