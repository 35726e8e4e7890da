"""Running a tournament: workers, engines, control."""
