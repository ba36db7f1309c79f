"""The queue in front of every far end.  `core/lane.py` decides; the keeper remembers."""

from vedette.lanes.keeper import LaneKeeper, LanePolicies

__all__ = ["LaneKeeper", "LanePolicies"]
