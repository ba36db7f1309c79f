"""What hunts found in the odd world, seen together: links are kept, and planted neighbourhoods come out as clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_call import Cli
from odd_kit import adjusted_rand, hunted, labels

from vedette.core.findings.clusters import ClusterInput, clusters_of
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.figure_bytes import unpack_figures
from vedette.operations.hunt_graph import PAGES, PLACES, hunt_graph
from vedette.store.finding_rows import GraphFiles, judged_bodies, linked_pages


@pytest.mark.slow
def test_planted_neighbourhoods_come_out_as_clusters(tmp_path: Path):
    """Of all odd pages that the hunt has seen, whether it kept them or not: how many it keeps is triage's business."""
    hunt = hunted(tmp_path)
    truth = {url: facts["neighbourhood"] for url, facts in hunt.known["odd"].items()}
    with hunt.installation.reading() as db:
        seen = [page for page in linked_pages(db) if page.url in truth]
        bodies = judged_bodies(db, [page.watch for page in seen])
    at = {page.url: n for n, page in enumerate(seen)}
    pages, places = hunt_graph(hunt.installation, PAGES), hunt_graph(hunt.installation, PLACES)
    groups = clusters_of(
        ClusterInput(
            places=[page.place for page in seen],
            links=sorted((at[one], at[other]) for one, other in pages.links() if one in at and other in at),
            place_links=frozenset(places.links()),
            vectors=np.stack([unpack_vector(unpack_figures(bodies[page.watch][1]).vector) for page in seen]),
        )
    )
    planted = [truth[page.url] if truth[page.url] >= 0 else f"alone {page.url}" for page in seen]
    assert len(seen) >= 20
    assert adjusted_rand(planted, labels(groups, len(seen))) >= 0.6


@pytest.mark.slow
def test_clusters_are_told_with_a_brief_that_names_what_they_have(tmp_path: Path):
    hunt = hunted(tmp_path)
    told = Cli(hunt.data)("hunt", "clusters", "--json").json
    assert told
    for one in told:
        assert len(one["findings"]) >= 2
        assert all(word in one["brief"] for word in one["words"])
        assert {finding["place"] for finding in one["findings"]} == set(one["places"])
    assert "What makes them odd" in Cli(hunt.data)("hunt", "clusters").out


@pytest.mark.slow
def test_a_damaged_graph_is_said_and_made_again_from_the_database(tmp_path: Path):
    hunt, files = hunted(tmp_path), GraphFiles(tmp_path / "data")
    first = Cli(hunt.data)("hunt", "graph", "--pages", "--json")
    assert first.code == 0
    assert first.json["links"] > 500
    whole = files.read(PAGES)
    assert whole
    files.path(PAGES).write_bytes(whole[:99] + b"!" + whole[100:])
    said = Cli(hunt.data)("hunt", "graph", "--pages")
    assert said.code == 0
    assert "is damaged" in said.err
    assert "made again from the database" in said.err
    assert files.read(PAGES) == whole
    assert Cli(hunt.data)("hunt", "graph", "--pages").err == ""
    assert Cli(hunt.data)("hunt", "graph", "--pages", "--json").json == first.json


@pytest.mark.slow
def test_a_graph_that_cannot_be_kept_is_told_all_the_same(tmp_path: Path):
    hunt = hunted(tmp_path)
    (hunt.data / "hunt-graphs").write_text("a file where the folder should be")
    told = Cli(hunt.data)("hunt", "graph")
    assert told.code == 0
    assert "places" in told.out
    assert "was not kept" in told.err


def test_without_a_hunt_there_is_no_graph_and_no_cluster(tmp_path: Path):
    from stocked import blank

    blank(tmp_path)
    cli = Cli(tmp_path)
    told = cli("hunt", "graph")
    assert "nothing was hunted yet" in told.out + told.err
    assert cli("hunt", "clusters", "--json").json == []
