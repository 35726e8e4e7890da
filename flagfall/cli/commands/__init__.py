"""Commands of `flagfall`, one file each."""
