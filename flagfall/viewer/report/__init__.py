"""Report of a tournament: its data from a results folder, the page that shows it, and plots for papers."""
