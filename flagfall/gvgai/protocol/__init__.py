"""Protocol of GVGAI's learning track, without input or output."""
