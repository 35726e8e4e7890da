"""Records of matches: journals, verification by replay, turns as columns, transcripts, results and logs."""
