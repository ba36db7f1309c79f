"""What the filters of a source leave of a page, and whether a difference in it is told.  Pure, like all of `core`."""
