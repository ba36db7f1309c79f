"""Every decision of the provider panel: what is asked, how fast, what it may cost, when to stop, what it shows."""
