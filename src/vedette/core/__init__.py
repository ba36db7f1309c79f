"""Every decision, pure: no clock, chance, disk, network, logging."""
