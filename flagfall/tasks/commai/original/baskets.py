"""The contents of John's and Mary's baskets, and queries about them."""

from __future__ import annotations

__all__ = ["BASKETS", "OBJECTS", "owners", "properties", "things_that_are"]

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS: Final = """
apple | green sour hard cheap healthy juicy local | red sweet hard fresh juicy expensive crunchy
asparagus | | white soft old long expensive dirty
avocado | | green ripe exotic expensive large healthy smooth buttery
banana | yellow sweet soft cheap healthy exotic ripe | yellow tasteless soft sweet old exotic
beet | red dirty hard old cheap sweet healthy local large |
carrot | orange hard fresh local healthy sweet crunchy | orange hard old dirty local small crunchy
cucumber | green fresh juicy local cheap healthy frozen crunchy | green fresh hard cheap local long
mango | brown rotten | red green yellow juicy sweet expensive
onion | white pungent smelly cheap local healthy | yellow old cheap dry local large
pear | brown sweet dry cheap local big | green tasteless hard local cheap big
pineapple | yellow sweet hard exotic brown rough | yellow sweet dry fresh expensive exotic
potato | yellow old cheap hard tasteless dirty bumpy |
tomato | red soft sour juicy local cheap | red soft sour local cheap
"""

_CELLS: Final = [[cell.strip() for cell in row.split("|")] for row in _ROWS.strip().splitlines()]

OBJECTS: Final = tuple(cells[0] for cells in _CELLS)
"""All objects, in alphabetical order."""

BASKETS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        owner: MappingProxyType({cells[0]: tuple(cells[column].split()) for cells in _CELLS if cells[column]})
        for column, owner in enumerate(["john", "mary"], 1)
    }
)
"""The properties of objects, by owner and object."""


def properties(owner: str | None = None) -> list[str]:
    """Return all properties of the objects in a basket, sorted.

    Args:
        owner: whose basket; `None` for all baskets.
    """
    owners_asked = BASKETS if owner is None else [owner]
    return sorted({quality for name in owners_asked for thing in BASKETS[name].values() for quality in thing})


def things_that_are(quality: str, owner: str) -> list[str]:
    """Return the objects in a basket that have a property.

    Args:
        quality: the property.
        owner: whose basket.
    """
    return [name for name, qualities in BASKETS[owner].items() if quality in qualities]


def owners(name: str, quality: str) -> list[str]:
    """Return the owners in whose baskets an object has a property.

    Args:
        name: the object.
        quality: the property.
    """
    return [owner for owner, basket in BASKETS.items() if quality in basket.get(name, ())]
