"""A host without a source gets one, by the rule of 001 section 6.2."""

from __future__ import annotations

from dataclasses import replace

from vedette.contracts.source import ListerOptions, Source
from vedette.contracts.words import SourceId
from vedette.core.urls.classify import Homes, auto_source

NEWS = Source(id=SourceId("news"), name="News", url="https://www.news.hr/feed")


def test_the_rule_is_the_documents():
    made = auto_source("Porezna.Gov.hr")
    assert (made.id, made.name, made.url) == (
        "porezna-gov-hr",
        "Auto: Porezna.Gov.hr",
        "https://Porezna.Gov.hr/",
    )
    assert (made.registered.hierarchy, made.is_active, made.origin) == (5, True, "auto")


def test_a_page_on_a_host_that_someone_configured_stays_with_whoever_found_it():
    other = replace(
        NEWS, id=SourceId("other"), url="https://other.hr/", options=ListerOptions(follow_hosts=("doc.hr",))
    )
    homes = Homes([NEWS, other])
    for url in ("https://news.hr/1", "https://www.news.hr/2", "https://other.hr/x", "https://doc.hr/y"):
        assert homes.home(url, NEWS.id) == ("news", None)


def test_an_unknown_host_gets_one_source_and_is_known_from_then_on():
    homes = Homes([NEWS])
    owner, made = homes.home("https://www.nn.hr/a", NEWS.id)
    assert made == auto_source("nn.hr")
    assert owner == made.id == "nn-hr"
    assert homes.home("https://nn.hr/b", NEWS.id) == ("nn-hr", None)


def test_a_source_that_was_made_so_is_found_again_after_a_restart():
    assert Homes([NEWS, auto_source("nn.hr")]).home("https://nn.hr/b", NEWS.id) == ("nn-hr", None)
