"""Twelve providers of language models, played on loopback: wire formats, limits, faults, and what they saw."""

from vedette.livingweb.providers.fake_providers import LivingProviders
from vedette.livingweb.providers.faults import FAULTS
from vedette.livingweb.providers.host import ProviderHost
from vedette.livingweb.providers.specs import TWELVE, FaultRule, KeyLimit, ModelChange, ProviderSpec

__all__ = [
    "FAULTS",
    "TWELVE",
    "FaultRule",
    "KeyLimit",
    "LivingProviders",
    "ModelChange",
    "ProviderHost",
    "ProviderSpec",
]
