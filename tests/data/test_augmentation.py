import pytest
import torch
from torch.nn.functional import interpolate

from coterie.data.augmentation import DigitViews, PhotoViews, enlarged, resample

PHOTOS = torch.rand(64, 3, 16, 16, generator=torch.Generator().manual_seed(0))
DIGITS = torch.zeros(64, 1, 28, 28)
DIGITS[:, :, 8:20, 12:16] = 1.0
STILL = PhotoViews(crop=1.0, jitter=0.0, grey=0.0)
RIGID = DigitViews(rotation=0, shear=0, scale=0, shift=0, warp=0, thick=0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("views", "images"),
    [(PhotoViews(), PHOTOS), (DigitViews(), DIGITS), (DigitViews(erase=1.0), DIGITS)],
    ids=["photos", "digits", "erased"],
)
def test_views_are_images_that_differ_and_follow_from_the_seed(views, images):
    first, again, other = (views(images, seeded(seed)) for seed in (0, 0, 1))
    assert first.shape == images.shape
    assert first.min() >= 0
    assert first.max() <= 1
    assert torch.equal(first, again)
    changed = (first != other).flatten(1).any(1)
    assert changed.float().mean() > 0.95


def test_photos_without_changes_are_themselves_or_mirrored():
    """A crop of the whole area is the image, stretched a little; the shape is drawn as well."""
    affine = torch.tensor([[1.0, 0, 0], [0, 1, 0]]).expand(64, -1, -1)
    torch.testing.assert_close(resample(PHOTOS, affine, border=True), PHOTOS)
    mirror = torch.tensor([[-1.0, 0, 0], [0, 1, 0]]).expand(64, -1, -1)
    torch.testing.assert_close(resample(PHOTOS, mirror, border=True), PHOTOS.flip(3))


def test_digits_without_changes_are_themselves():
    torch.testing.assert_close(RIGID(DIGITS, seeded()), DIGITS, rtol=1e-4, atol=1e-4)


def test_a_flat_colour_keeps_its_place_in_a_crop_and_its_grey_under_hue():
    flat = torch.tensor([0.6, 0.4, 0.3]).view(1, 3, 1, 1).expand(64, 3, 8, 8)
    views = PhotoViews(brightness=0, contrast=0, saturation=0, hue=0.1, grey=0.0)(flat, seeded())
    luma = torch.tensor([0.299, 0.587, 0.114])
    expected = (flat.movedim(1, -1) @ luma).mean()
    torch.testing.assert_close(
        views.movedim(1, -1) @ luma, expected.expand(64, 8, 8), rtol=1e-3, atol=2e-3
    )
    assert views.std(0).amax() > 0.01


def test_grey_images_have_equal_channels():
    views = PhotoViews(grey=1.0)(PHOTOS, seeded())
    torch.testing.assert_close(views[:, 0], views[:, 1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(views[:, 0], views[:, 2], rtol=1e-4, atol=1e-4)


def test_about_half_of_the_photos_are_mirrored():
    ramp = torch.linspace(0, 1, 16).expand(400, 3, 16, 16)
    views = STILL(ramp, seeded())
    mirrored = views[:, 0, :, 0].mean(1) > views[:, 0, :, -1].mean(1)
    assert 0.4 < mirrored.float().mean() < 0.6


def test_thick_strokes_have_more_ink_and_digits_are_never_mirrored():
    inked = DigitViews(rotation=0, shear=0, scale=0, shift=0, warp=0, thick=1.0)(DIGITS, seeded())
    assert (inked.sum((1, 2, 3)) > DIGITS.sum((1, 2, 3))).all()
    left = torch.zeros(200, 1, 28, 28)
    left[..., :8] = 1.0
    views = DigitViews()(left, seeded())
    assert (views[..., :14].sum((1, 2, 3)) > views[..., 14:].sum((1, 2, 3))).all()


def test_erased_squares_take_ink_away():
    whole = torch.ones(64, 1, 28, 28)
    bare = DigitViews(
        rotation=0, shear=0, scale=0, shift=0, warp=0, thick=0, erase=1.0, erase_size=0.5
    )
    lost = 1 - bare(whole, seeded()).mean((1, 2, 3))
    assert ((lost > 0.15) & (lost < 0.35)).all()


def test_coarse_grids_are_enlarged_as_bicubic_surfaces():
    cells = torch.rand(3, 2, 4, 5, generator=torch.Generator().manual_seed(0))

    expected = interpolate(cells, (28, 30), mode="bicubic", align_corners=True)

    torch.testing.assert_close(enlarged(cells, 28, 30), expected)
