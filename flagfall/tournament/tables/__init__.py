"""Tables of standings: a row for each agent, and for each task and agent."""
