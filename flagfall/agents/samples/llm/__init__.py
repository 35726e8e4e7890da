"""Parts of the agent that asks a language model: options, endpoint, answers, conversation."""
