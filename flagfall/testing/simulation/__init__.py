"""Matches and tournaments under fault schedules, simulated on the virtual clock in one event loop."""
