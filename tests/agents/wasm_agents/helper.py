"""A module that an agent imports from beside it."""


def square(number: int) -> int:
    return number * number
