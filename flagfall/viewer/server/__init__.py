"""The server of pages: connections within bounds, access, static files, server-sent events."""
