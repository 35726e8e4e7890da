"""Options and servers of the commands that show pages."""
