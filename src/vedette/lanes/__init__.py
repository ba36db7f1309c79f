"""The queue in front of every far end.  `core/lanes/lane.py` decides; the keeper remembers."""

from vedette.contracts.lane import LanePolicies
from vedette.lanes.keeper import LaneKeeper

__all__ = ["LaneKeeper", "LanePolicies"]
