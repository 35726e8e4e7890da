"""Plan files: from TOML to a `flagfall.tournament.model.TournamentPlan`."""
