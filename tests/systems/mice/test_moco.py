import torch

from coterie.data.batch import SetBatch
from coterie.systems.mice.config import MiCEConfig, MoCoConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.moco import MoCo

SETTINGS = {"backbone": "small", "mean": (0.1,), "std": (0.3,), "width": 8, "queue": 12}


def shown(n_views: int = 2) -> SetBatch:
    points = torch.rand(1, 6, n_views, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    return SetBatch(points, torch.ones(1, 6, dtype=torch.bool))


def test_moco_is_mice_under_a3_to_a5():
    moco = MoCo(MoCoConfig(**SETTINGS)).eval()
    mice = MiCE(
        MiCEConfig(**SETTINGS, n_clusters=3, gate="uniform", single_head=True, class_term=False)
    ).eval()
    for ours, theirs in (
        (mice.pair.student, moco.pair.student),
        (mice.pair.teacher, moco.pair.teacher),
    ):
        ours.backbone.load_state_dict(theirs.backbone.state_dict())
        with torch.no_grad():
            ours.heads.weight[0], ours.heads.bias[0] = theirs.heads.weight[0], theirs.heads.bias[0]
    mice.queue.load_state_dict(moco.queue.state_dict())
    batch = shown(3)
    two = SetBatch(batch.points[:, :, :2], batch.mask)
    torch.testing.assert_close(moco.loss(two).loss, mice.loss(batch).loss)
    torch.testing.assert_close(moco.loss(two).kept, mice.loss(batch).kept.keys)


def test_a_step_fills_the_queue_and_moves_the_teacher():
    moco = MoCo(MoCoConfig(**SETTINGS)).train()
    learnt = moco.loss(shown())
    with torch.no_grad():
        moco.pair.student.heads.bias.add_(1.0)
    before = moco.pair.teacher.heads.bias.clone()
    moco.after_step(0, learnt.kept)
    assert torch.equal(moco.queue.keys[0, :6], learnt.kept[:, 0])
    assert not torch.equal(moco.pair.teacher.heads.bias, before)


def test_reading_changes_nothing():
    moco = MoCo(MoCoConfig(**SETTINGS)).eval()
    before = {key: value.clone() for key, value in moco.state_dict().items()}
    read = moco.read(shown().points[0, :, 0])
    assert read.embeddings.shape == (6, 8)
    torch.testing.assert_close(read.embeddings.norm(dim=1), torch.ones(6))
    assert all(torch.equal(before[key], value) for key, value in moco.state_dict().items())
