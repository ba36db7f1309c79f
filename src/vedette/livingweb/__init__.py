"""Pages, feeds, sitemaps, faults and truth: a small web of our own on loopback."""

from vedette.livingweb.croatia import croatia_world
from vedette.livingweb.noise import Noise, made_up
from vedette.livingweb.odd import OddPlan, OddWorld, odd_world
from vedette.livingweb.presets import GridMix, demo_world, document_world, fault_world, grid_world, trap_world
from vedette.livingweb.robots import Robots
from vedette.livingweb.web import LivingWeb, Ports
from vedette.livingweb.world import EPOCH, FaultRule, HostSpec, Limits, PageState, World, WorldClock

__all__ = [
    "EPOCH",
    "FaultRule",
    "GridMix",
    "HostSpec",
    "Limits",
    "LivingWeb",
    "Noise",
    "OddPlan",
    "OddWorld",
    "PageState",
    "Ports",
    "Robots",
    "World",
    "WorldClock",
    "croatia_world",
    "demo_world",
    "document_world",
    "fault_world",
    "grid_world",
    "made_up",
    "odd_world",
    "trap_world",
]
