"""Agent that `benchmarks.hosts` starts."""


class Echo:
    """Agent that answers at once."""

    def act(self, observation: int) -> int:
        """Return the observation as the action.

        Args:
            observation: the state of the task.
        """
        return observation
