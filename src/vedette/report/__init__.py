"""Changes, diffs and decisions as people read them.  Everything from the web is neutralised here."""
