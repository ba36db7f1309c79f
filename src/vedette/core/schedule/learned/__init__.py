"""The `learned` policy: what it believes about each target, and when a look is worth its price.  README.md."""
