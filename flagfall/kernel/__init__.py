"""The actors of a match: environment, scheduler and seats, and the referee between them."""

from __future__ import annotations
