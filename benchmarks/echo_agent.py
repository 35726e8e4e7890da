"""The agent that the process benchmark starts."""


class Echo:
    """Answers at once."""

    def act(self, observation: int) -> int:
        """What it was shown."""
        return observation
