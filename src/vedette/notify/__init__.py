"""Tells people: channels, what each of them reads, and the sender that never lets one wait for another."""
