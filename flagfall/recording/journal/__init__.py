"""The journal: the file format of a recorded match, its writer and its reader."""
