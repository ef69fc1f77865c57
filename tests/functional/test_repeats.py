import torch

from coterie.functional.repeats import find_repeats


def test_kinds_are_numbered_by_their_first_row():
    rows = torch.tensor([[3.0, 0.0], [1.0, 2.0], [3.0, 0.0], [0.0, 9.0], [1.0, 2.0]])
    found = find_repeats(rows)
    assert found.first.tolist() == [0, 1, 3]
    assert found.kind.tolist() == [0, 1, 0, 2, 1]
    assert torch.equal(rows[found.first][found.kind], rows)


def test_rows_of_which_no_two_are_equal_stay_in_their_order():
    rows = torch.rand(50, 2, 3, generator=torch.Generator().manual_seed(0))
    found = find_repeats(rows)
    assert torch.equal(found.first, torch.arange(50))
    assert torch.equal(found.kind, torch.arange(50))


def test_any_rows_are_had_back():
    generator = torch.Generator().manual_seed(0)
    for n in (1, 2, 30):
        rows = torch.randint(3, (n, 2), generator=generator)
        found = find_repeats(rows)
        assert torch.equal(rows[found.first][found.kind], rows)
        assert len(found.first) == len(set(map(tuple, rows.tolist())))


def test_rows_of_any_type_may_be_strided_or_none():
    rows = torch.tensor([[1.0, 2.0, 1.0], [0.5, 7.0, 0.5]], dtype=torch.bfloat16).T
    assert find_repeats(rows).kind.tolist() == [0, 1, 0]
    assert find_repeats(torch.empty(0, 2)).first.dtype == torch.int64
