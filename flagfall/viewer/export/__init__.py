"""Exports of journals for other programs: timelines for Perfetto, tables in Parquet."""
