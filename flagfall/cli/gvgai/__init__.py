"""GVGAI's learning track on the command line."""
