import io
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from scipy.stats import norm

import coterie
from coterie import plots
from coterie.inference.result import Clustering, Step
from coterie.palette import FAINT
from coterie.plots import MAX_PANELS, MAX_POINTS, PALETTE, SHAPES, plot_clusters, plot_steps

POINTS = np.array([[0.0, 0], [0, 1], [5, 5], [5, 6], [6, 5], [2, 3]])
PROBABILITIES = np.array([[0.1, 0.9], [0.0, 1], [1, 0], [1, 0], [0.9, 0.1], [0.5, 0.5]])


def clustering(labels, probabilities, steps=()):
    return Clustering(np.asarray(labels), np.asarray(probabilities, float), -1.0, tuple(steps))


def step(claimed, offered, probabilities):
    return Step(np.asarray(claimed), np.asarray(offered), np.asarray(probabilities, np.float32))


@pytest.fixture
def found():
    steps = [
        step([0, 1], range(6), [0.9, 0.95, 0, 0.01, 0, 0.4]),
        step([2, 3, 4, 5], [2, 3, 4, 5], [1, 0.9, 0.8, 0.7]),
    ]
    return clustering([1, 1, 0, 0, 0, 0], PROBABILITIES, steps)


def panel(figure, name):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == name)


def drawn(collection):
    return {tuple(point) for point in np.asarray(collection.get_offsets()).tolist()}


def test_clusters_have_their_points_and_colours(found):
    (axes,) = plot_clusters(POINTS, found).axes
    for cluster, dots in enumerate(axes.collections):
        assert drawn(dots) == {tuple(p) for p in POINTS[found.labels == cluster].tolist()}
        assert tuple(dots.get_facecolors()[0, :3]) == pytest.approx(to_rgb(PALETTE[cluster]))
    assert len(axes.collections) == 2


def test_the_less_sure_a_point_the_fainter_it_is(found):
    (axes,) = plot_clusters(POINTS, found).axes
    opacity = axes.collections[0].get_facecolors()[:, 3]  # confidence 1, 1, 0.9, 0.5
    assert opacity[0] == opacity[1] > opacity[2] > opacity[3] > 0
    assert opacity[0] <= 1


def test_the_legend_says_how_large_the_clusters_are(found):
    (legend,) = plot_clusters(POINTS, found).legends
    assert [text.get_text() for text in legend.get_texts()] == ["0   4 points", "1   2 points"]


def test_one_cluster_is_drawn_and_counted_in_the_singular():
    alone = clustering([0], [[1.0]], [step([0], [0], [1.0])])
    figure = plot_clusters([[1.0, 2.0]], alone)
    assert figure.axes[0].get_title(loc="left") == "1 cluster"
    assert figure.legends[0].get_texts()[0].get_text() == "0   1 point"
    assert np.isfinite(figure.axes[0].collections[0].get_facecolors()).all()


def test_many_clusters_differ_in_colour_or_shape_and_the_legend_stays_short():
    k = 3 * len(PALETTE)
    figure = plot_clusters(
        np.random.default_rng(0).normal(size=(k, 2)), clustering(range(k), np.eye(k))
    )
    looks = {
        (tuple(dots.get_facecolors()[0]), dots.get_paths()[0].vertices.tobytes())
        for dots in figure.axes[0].collections
    }
    assert len(looks) == k
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[-1] == "7 smaller   7 points"
    assert len(texts) == plots.MAX_NAMED
    assert len(set(SHAPES)) == len(SHAPES)


def test_there_is_a_panel_for_each_step_and_one_for_the_outcome(found):
    figure = plot_steps(POINTS, found)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["step 1", "step 2", "outcome"]
    details = [axes.get_title(loc="right") for axes in figure.axes]
    assert details == ["takes 2 of 6", "takes 4 of 4", "2 clusters"]


def test_a_step_tells_taken_offered_and_claimed_points_apart(found):
    taken, offered, claimed = panel(plot_steps(POINTS, found), "step 1").collections
    assert drawn(taken) == set()
    assert drawn(offered) == {tuple(p) for p in POINTS[2:].tolist()}
    assert drawn(claimed) == {tuple(p) for p in POINTS[:2].tolist()}
    assert claimed.get_sizes()[0] > offered.get_sizes()[0] > taken.get_sizes()[0]

    taken, offered, claimed = panel(plot_steps(POINTS, found), "step 2").collections
    assert drawn(taken) == {tuple(p) for p in POINTS[:2].tolist()}
    assert drawn(offered) == set()
    assert drawn(claimed) == {tuple(p) for p in POINTS[2:].tolist()}


def test_membership_fills_from_white_to_the_colour_of_the_cluster_to_be(found):
    _, offered, claimed = panel(plot_steps(POINTS, found), "step 1").collections
    colour = np.array(to_rgb(PALETTE[1]))  # what step 1 took became cluster 1
    fill = offered.get_facecolors()[:, :3]  # probabilities 0, 0.01, 0, 0.4
    np.testing.assert_allclose(fill[0], 1)
    np.testing.assert_allclose(fill[3], 0.6 + 0.4 * colour, atol=0.01)
    np.testing.assert_allclose(claimed.get_facecolors()[1, :3], 0.05 + 0.95 * colour, atol=0.01)


def test_of_very_many_steps_the_largest_are_shown_and_the_rest_counts_as_taken():
    n_steps = MAX_PANELS + 3
    sizes = [1] * 4 + [2] * (n_steps - 4)  # the first four are the smallest
    ends = np.cumsum(sizes)
    n = int(ends[-1])
    steps = [
        step(range(e - s, e), range(e - s, n), np.ones(n - e + s))
        for s, e in zip(sizes, ends, strict=True)
    ]
    points = np.random.default_rng(0).normal(size=(n, 2))
    figure = plot_steps(points, clustering(np.zeros(n, int), np.ones((n, 1)), steps))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"step {number}" for number in range(5, n_steps + 1)] + ["outcome"]
    assert len(drawn(panel(figure, "step 5").collections[0])) == 4
    assert figure.legends[0].get_title().get_text() == f"shown: the 11 largest of {n_steps} steps"


def test_panels_that_are_not_needed_are_gone():
    steps = [step([i], range(i, 6), np.ones(6 - i)) for i in range(6)]
    figure = plot_steps(POINTS, clustering(np.zeros(6, int), np.ones((6, 1)), steps))
    assert len(figure.axes) == 7
    assert all(axes.get_title(loc="left") for axes in figure.axes)


def test_axes_carry_the_names_of_the_columns(found):
    figure = plot_clusters(POINTS, found, names=["length", "width"])
    assert figure.axes[0].get_xlabel() == "length"
    assert figure.axes[0].get_ylabel() == "width"
    figure = plot_steps(POINTS, found, names=["length", "width"])
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("length", "width")


def test_more_than_two_columns_are_drawn_as_the_network_read_them(found):
    points, read = np.random.default_rng(0).normal(size=(2, 6, 4))
    (axes,) = plot_clusters(points, found, read=read).axes
    places = set().union(*map(drawn, axes.collections))
    assert places == {tuple(place) for place in read[:, :2].tolist()}
    assert axes.get_xlabel() == "first principal component"


def test_large_units_do_not_decide_what_is_drawn(found):
    """Of raw columns, the first principal component would be the id alone."""
    labels = found.labels
    points = np.column_stack([1e5 + np.arange(6) % 3, labels, labels, labels]) * [1e3, 1, 2, 3]
    (axes,) = plot_clusters(points, found).axes
    offsets = [np.asarray(dots.get_offsets())[:, 0] for dots in axes.collections]
    assert max(np.ptp(x) for x in offsets) < abs(offsets[0].mean() - offsets[1].mean())


def test_columns_that_separate_the_clusters_are_drawn_with_their_names():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 30)
    points = np.column_stack(
        [generator.normal(size=(120, 6)), 9 * (labels % 2), 900 * (labels // 2)]
    )
    points[:, 6:] += generator.normal(size=(120, 2)) * [1, 100]
    names = [*"abcdef", "weight_kg", "height_mm"]
    four = clustering(labels, np.eye(4)[labels])
    (axes,) = plot_clusters(points, four, names=names, read=points).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("weight_kg", "height_mm")


def test_maps_have_latitude_upwards_and_are_not_distorted(found):
    points = np.column_stack([60 + 0.1 * POINTS[:, 0], 10 + 0.1 * POINTS[:, 1]])
    (axes,) = plot_clusters(points, found, names=["latitude", "longitude"]).axes
    assert axes.get_ylabel() == "latitude"
    assert axes.get_aspect() == pytest.approx(2, rel=0.02)
    plot_steps(points, found, names=["latitude", "longitude"]).savefig(io.BytesIO(), format="png")


def test_a_single_column_is_spread_without_touching_its_values(found):
    (axes,) = plot_clusters(np.zeros((6, 1)), found, names=["x"]).axes
    dots = np.concatenate([np.asarray(dots.get_offsets()) for dots in axes.collections])
    np.testing.assert_array_equal(dots[:, 0], 0)
    assert len(np.unique(dots[:, 1])) == 6
    assert len(axes.get_yticks()) == 0


def test_very_many_points_are_thinned_and_the_picture_says_so():
    n = MAX_POINTS + 10
    points = np.random.default_rng(0).normal(size=(n, 2))
    many = clustering(np.zeros(n, int), np.ones((n, 1)), [step(range(n), range(n), np.ones(n))])
    figure = plot_steps(points, many)
    assert len(panel(figure, "outcome").collections[0].get_offsets()) == MAX_POINTS
    assert figure.legends[0].get_title().get_text() == "shown: 20,000 of 20,010 points"


def test_counts_of_a_sample_are_explained():
    steps = [step([0, 1], range(4), np.ones(4)), step([2, 3], [2, 3], np.ones(2))]
    sampled = clustering([1, 1, 0, 0, 0, 0], PROBABILITIES, steps)
    title = plot_steps(POINTS, sampled).legends[0].get_title().get_text()
    assert title == "the network reads 4 of 6 points, which the steps count"


def test_ticks_are_written_as_people_write_them(found):
    figure = plot_clusters(POINTS * [1e4, 0.1] + [0, 2000], found, names=["income", "year"])
    figure.canvas.draw()
    (axes,) = figure.axes
    assert "20,000" in [text.get_text() for text in axes.get_xticklabels()]
    assert "2000.2" in [text.get_text() for text in axes.get_yticklabels()]


def test_points_of_another_set_are_refused(found):
    with pytest.raises(ValueError, match="n = 6, got shape"):
        plot_clusters(POINTS[:3], found)
    with pytest.raises(ValueError, match="3 names for 2 columns"):
        plot_steps(POINTS, found, names=["a", "b", "c"])
    with pytest.raises(ValueError, match="read must be"):
        plot_steps(POINTS, found, read=POINTS[:2])


@pytest.mark.parametrize("draw", [plot_clusters, plot_steps])
def test_pictures_are_saved_without_pyplot(found, draw):
    before = "matplotlib.pyplot" in sys.modules
    figure = draw(POINTS, found)
    assert isinstance(figure, Figure)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_noise_is_grey_and_named():
    labels = [1, 1, 0, 0, 0, -1]
    steps = [step([0, 1], range(6), np.ones(6)), step([5], [2, 3, 4, 5], np.ones(4))]
    noisy = clustering(labels, PROBABILITIES, steps)
    figure = plot_clusters(POINTS, noisy)
    (grey,) = [each for each in figure.axes[0].collections if drawn(each) == {(2.0, 3.0)}]
    assert to_rgb(grey.get_facecolor()[0][:3]) == to_rgb(FAINT)
    assert figure.legends[0].get_texts()[-1].get_text() == "noise   1 point"
    outcome = panel(plot_steps(POINTS, noisy), "outcome")
    assert {(2.0, 3.0)} in [drawn(each) for each in outcome.collections]


def test_contours_enclose_shares_of_the_points(found):
    random = np.random.default_rng(0)
    points = random.normal(size=(400, 2)) * [1, 3]
    clusters = clustering(np.zeros(400, int), np.ones((400, 1)))

    def log_density(places):
        return norm.logpdf(places, 0, [1, 3]).sum(1)

    axes = plot_clusters(points, clusters, log_density=log_density).axes[0]
    (lines,) = [each for each in axes.collections if isinstance(each, ContourSet)]
    assert len(lines.levels) == 4
    for level, share in zip(lines.levels, (0.99, 0.95, 0.8, 0.5), strict=True):
        assert (log_density(points) >= level).mean() == pytest.approx(share, abs=0.01)
    for paths in lines.get_paths():  # ellipses three times as high as wide, closed
        width, height = np.ptp(paths.vertices, axis=0)
        assert height / width == pytest.approx(3, rel=0.1)


def test_contours_are_of_two_columns(found):
    points = np.zeros((4, 3))
    with pytest.raises(ValueError, match="contours of a density need points of two columns, got 3"):
        plot_clusters(points, clustering(np.zeros(4, int), np.ones((4, 1))), log_density=len)


def test_the_outcome_of_the_steps_has_contours_too():
    points = np.random.default_rng(0).normal(size=(60, 2))
    model = coterie.AMCP("amcp-mog2d").fit(points)
    figure = plot_steps(points, model.clustering_, log_density=model.score_samples)
    drawn = [
        panel for panel in figure.axes if any(isinstance(c, ContourSet) for c in panel.collections)
    ]
    assert len(drawn) == 1
