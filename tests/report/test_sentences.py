import numpy as np

from coterie.report.numerals import Numeral, numeral_of
from coterie.report.profile import Difference, profiles
from coterie.report.sentences import sentence, spoken


def told(points, labels, names):
    numerals = [numeral_of(points[:, j], name) for j, name in enumerate(names)]
    shares = np.array([numeral.share for numeral in numerals])
    found = profiles(points, labels, np.ones(len(points)), shares=shares)
    return [sentence(profile.traits, names, numerals) for profile in found]


def test_a_cluster_is_told_by_what_it_has_more_or_less_of():
    labels = np.repeat([0, 1], 201)
    even = np.tile(np.linspace(-1, 1, 201), 2)
    alcohol = np.take([12.3, 13.7], labels) + 0.4 * even
    hue = np.take([1.11, 0.7], labels) - 0.15 * even
    nothing = np.random.default_rng(0).normal(size=402)
    first, second = told(
        np.column_stack([nothing, alcohol, hue]), labels, ["ash", "alcohol", "hue"]
    )
    assert second == "higher alcohol (13.7 against 12.3), lower hue (0.70 against 1.11)"
    assert first == "lower alcohol (12.3 against 13.7), higher hue (1.11 against 0.70)"


def test_of_a_category_one_level_is_told_by_its_shares():
    labels = np.repeat([0, 1], 100)
    gold = labels * (np.arange(200) % 10 < 8)
    points = 0.48 * np.column_stack([gold == 1, gold == 0]) + 0.0
    first, second = told(points, labels, ["plan=gold", "plan=basic"])
    assert second == "plan = gold in 80% of rows (0% elsewhere)"
    assert first == "plan = gold in 0% of rows (80% elsewhere)"


def test_a_cluster_between_two_others_is_around_its_median():
    generator = np.random.default_rng(0)
    points = np.concatenate([generator.normal(at, 0.1, (100, 1)) for at in (-5, 0.25, 5)])
    sentences = told(points, np.repeat([0, 1, 2], 100), ["x"])
    assert sentences[1].startswith("x around 0.2")
    assert sentences[0].startswith("lower x (-5.0 against")


def test_clusters_without_traits_say_so():
    assert sentence((), ["x"], [Numeral(1)]) == "no single column distinguishes it"
    assert sentence((), ["x"], [Numeral(1)], alone=True) == "the only cluster"


def test_large_numbers_have_commas_and_long_names_are_cut():
    each = Difference(0, 9.0, 28_000.0, 61_000.0, 5.0)
    name = "income" * 20
    said = sentence((each,), [name], [Numeral(0, whole=True)])
    assert said.endswith("(28,000 against 61,000)")
    assert len(said) < 90


def test_indicators_are_spoken_with_their_level():
    assert spoken("plan=gold", Numeral(0, share=True)) == "plan = gold"
    assert spoken("smoker", Numeral(0, share=True)) == "smoker = 1"
    assert spoken("a=b", Numeral(0)) == "a=b"
