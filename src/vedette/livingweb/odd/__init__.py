"""Odd pages among ordinary ones and among pages that only look odd, with a truth that can be asked."""

from vedette.livingweb.odd.decoys import DECOYS
from vedette.livingweb.odd.kinds import KINDS
from vedette.livingweb.odd.odd_world import OddWorld, decoys_for, every_page, odd_world
from vedette.livingweb.odd.ordinary import TEMPLATES
from vedette.livingweb.odd.plan import FARM_DOMAIN, OddPlan

__all__ = [
    "DECOYS",
    "FARM_DOMAIN",
    "KINDS",
    "TEMPLATES",
    "OddPlan",
    "OddWorld",
    "decoys_for",
    "every_page",
    "odd_world",
]
