"""What programs touch over HTTP."""
