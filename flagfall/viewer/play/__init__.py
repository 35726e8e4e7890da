"""Playing in the browser: a person at a page is one more agent that connects."""
