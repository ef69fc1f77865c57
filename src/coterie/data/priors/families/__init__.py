"""The families of sets in the universal prior; each draws a whole batch at once."""

from collections.abc import Callable

from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.families.blobs import blobs
from coterie.data.priors.families.enclosures import enclosures
from coterie.data.priors.families.regions import regions
from coterie.data.priors.families.ribbons import ribbons
from coterie.data.priors.families.roads import roads
from coterie.data.priors.families.scenes import scenes
from coterie.data.priors.families.sheets import sheets
from coterie.data.priors.families.territories import territories

Family = Callable[[Plan, int, Tensor, Draws], Drawn]

FAMILIES: dict[str, Family] = {
    "blobs": blobs,
    "images": sheets,  # the name in recipes: images of Gaussians under a smooth map
    "scenes": scenes,
    "regions": regions,
    "territories": territories,
    "roads": roads,
    "enclosures": enclosures,
    "ribbons": ribbons,
}
