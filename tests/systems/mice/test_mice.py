import json
import math
from dataclasses import asdict, replace

import pytest
import torch
from torch.nn.functional import normalize

from coterie.data.batch import SetBatch
from coterie.functional.contrastive import info_nce
from coterie.systems.mice.config import MiCEConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.registry import build

SMALL = MiCEConfig(
    backbone="small", mean=(0.1,), std=(0.3,), width=8, queue=12, n_clusters=3, momentum=0.9
)
ABLATIONS = {
    "uniform gate": {"gate": "uniform"},
    "single head": {"single_head": True},
    "uniform gate, single head": {"gate": "uniform", "single_head": True},
    "no class term": {"class_term": False},
    "no analytical update": {"analytical_update": False},
    "no gradient on prototypes": {"prototype_gradient": False},
    "random gating prototypes": {"gating_prototypes": "random"},
    "learnt gating prototypes": {"gating_prototypes": "learnt"},
}


def made(seed: int = 0, **changes) -> MiCE:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MiCE(replace(SMALL, **changes))


def batch(seed: int = 0, n_images: int = 6) -> SetBatch:
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(1, n_images, 3, 1, 8, 8, generator=generator)
    return SetBatch(points, torch.ones(1, n_images, dtype=torch.bool))


def taken(system: MiCE, steps: int = 3) -> MiCE:
    """The system after some steps of its own training and one end of an epoch."""
    (optimizer,) = system.optimizers(_Rate)
    for step in range(steps):
        learnt = system.loss(batch(step))
        optimizer.zero_grad()
        learnt.loss.backward()
        optimizer.step()
        system.after_step(step, learnt.kept)
    system.after_epoch(0)
    return system


class _Rate:
    learning_rate = 0.1


def test_settings_survive_a_card():
    assert build("mice", json.loads(json.dumps(asdict(SMALL)))).config == SMALL


def test_the_loss_is_the_negative_bound_of_the_three_views():
    system, shown = made().eval(), batch()
    teacher, student, gate = shown.points[0].unbind(1)
    heads, features = system.pair.student.heads, system.pair.student.features
    keys = system.pair.teacher.heads(system.pair.teacher.features(teacher))[:, :-1]
    bound = system.bound(heads(features(student))[:, :-1], keys, heads(features(gate))[:, -1])
    learnt = system.loss(shown)
    torch.testing.assert_close(learnt.loss, -bound.elbo.mean())
    torch.testing.assert_close(learnt.kept.keys, keys)
    labels = bound.posterior.argmax(1)
    for k in range(3):
        torch.testing.assert_close(learnt.kept.sums[k], keys[labels == k, k].sum(0))


def test_only_the_student_and_the_prototypes_learn():
    system = made()
    system.loss(batch()).loss.backward()
    learnt = {name for name, weight in system.named_parameters() if weight.grad is not None}
    assert "prototypes" in learnt
    assert "gating_prototypes" not in learnt
    assert all(name.startswith("pair.student.") for name in learnt - {"prototypes"})
    assert "pair.student.backbone.stem.weight" in learnt


def test_the_gating_prototypes_are_the_far_centres():
    omega = made().gating_prototypes
    expected = torch.full((3, 3), -0.5).fill_diagonal_(1)
    torch.testing.assert_close(omega @ omega.T, expected)


def test_more_clusters_than_centres_fit_are_refused():
    with pytest.raises(ValueError, match=r"10 centres cannot .* in 8 dimensions"):
        made(n_clusters=10)


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_trains(name):
    system = made(**ABLATIONS[name]).train()
    before = {key: value.clone() for key, value in system.state_dict().items()}
    taken(system)
    after = system.state_dict()
    assert all(value.isfinite().all() for value in after.values())
    moved = {key for key in before if not torch.equal(before[key], after[key])}
    assert {"pair.student.heads.weight", "pair.teacher.heads.weight", "queue.keys"} <= moved
    assert ("gating_prototypes" in moved) == (name == "learnt gating prototypes")
    posterior = system.eval().read(batch().points[0, :, 0]).posterior
    torch.testing.assert_close(posterior.sum(1), torch.ones(6))
    assert posterior.shape == (6, 3)


def test_prototypes_move_by_the_gradient_and_by_the_epoch_as_the_switches_say():
    def moved(**changes) -> tuple[bool, bool]:
        system = made(**changes).train()
        begun = system.prototypes.clone()
        (optimizer,) = system.optimizers(_Rate)
        learnt = system.loss(batch())
        learnt.loss.backward()
        optimizer.step()
        by_gradient = not torch.equal(system.prototypes, begun)
        system.after_step(0, learnt.kept)
        stepped = system.prototypes.clone()
        system.after_epoch(0)
        return by_gradient, not torch.equal(system.prototypes, stepped)

    assert moved() == (True, True)
    assert moved(analytical_update=False) == (True, False)
    assert moved(prototype_gradient=False) == (False, True)


def test_theorem_3_under_a3_to_a5_the_loss_is_mocos():
    system = made(gate="uniform", single_head=True, class_term=False).eval()
    shown = batch()
    teacher, student, _ = shown.points[0].unbind(1)
    key = system.pair.teacher.heads(system.pair.teacher.features(teacher))[:, 0]
    query = system.pair.student.heads(system.pair.student.features(student))[:, 0]
    expected = info_nce(query, key, system.queue.keys[0], 1.0).mean()
    torch.testing.assert_close(system.loss(shown).loss, expected)


def test_with_a_single_head_prototypes_are_sums_of_the_shared_embedding():
    system = made(single_head=True).eval()
    learnt = system.loss(batch())
    assert learnt.kept.keys.shape == (6, 1, 8)
    torch.testing.assert_close(learnt.kept.sums.sum(0), learnt.kept.keys[:, 0].sum(0))


def test_an_empty_cluster_keeps_its_prototype():
    system = made()
    before = system.prototypes.clone()
    system.sums[1] = torch.arange(8.0)
    system.after_epoch(0)
    assert torch.equal(system.prototypes[0], before[0])
    assert torch.equal(system.prototypes[2], before[2])
    torch.testing.assert_close(system.prototypes[1], normalize(torch.arange(8.0), dim=0))
    assert not system.sums.any()


def test_the_teacher_averages_weights_and_statistics():
    system = made().train()
    before = [value.clone() for value in system.pair.teacher.state_dict().values()]
    system.loss(batch())  # moves the student's statistics
    with torch.no_grad():
        for weight in system.pair.student.parameters():
            weight.add_(1.0)
    system.pair.average_teacher(10**6)
    teacher, student = (net.state_dict() for net in (system.pair.teacher, system.pair.student))
    for old, (name, value) in zip(before, teacher.items(), strict=True):
        if value.is_floating_point():
            torch.testing.assert_close(value, 0.9 * old + 0.1 * student[name])


def test_the_teacher_follows_fast_at_first():
    system = made()
    with torch.no_grad():
        system.pair.student.heads.bias.fill_(1.0)
        before = system.pair.teacher.heads.bias.clone()
    system.pair.average_teacher(0)
    torch.testing.assert_close(system.pair.teacher.heads.bias, 0.1 * before + 0.9)


def test_the_teacher_is_never_in_training_mode():
    system = made().train()
    assert system.pair.student.training
    assert not system.pair.teacher.backbone.norm.training


def test_forward_and_reading_change_nothing_but_the_students_statistics():
    system = made().train()
    before = {key: value.clone() for key, value in system.state_dict().items()}
    system.loss(batch())
    changed = {
        key for key, value in system.state_dict().items() if not torch.equal(before[key], value)
    }
    statistics = ("running_mean", "running_var", "num_batches_tracked")
    assert changed
    assert all(key.startswith("pair.student.") and key.endswith(statistics) for key in changed)
    system.eval()
    before = {key: value.clone() for key, value in system.state_dict().items()}
    images = batch().points[0, :, 0]
    first, again = system.read(images), system.read(images)
    system.loss(batch())
    assert all(torch.equal(before[key], value) for key, value in system.state_dict().items())
    assert torch.equal(first.posterior, again.posterior)


def test_what_is_read_in_an_image_does_not_depend_on_its_neighbours():
    system, images = taken(made().train()).eval(), batch(1, 9).points[0, :, 0]
    whole, alone = system.read(images), system.read(images[4:5])
    torch.testing.assert_close(whole.posterior[4:5], alone.posterior, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(whole.embeddings[4:5], alone.embeddings, rtol=1e-4, atol=1e-5)


def test_a_new_gate_is_nearly_undecided():
    posterior = made().eval().read(batch().points[0, :, 0]).posterior
    assert float(posterior.amax()) < 0.9
    assert float(-(posterior * posterior.log()).sum(1).mean()) > 0.5 * math.log(3)


def test_batches_of_other_views_are_refused():
    with pytest.raises(ValueError, match=r"points must be \(B, N, 3, C, H, W\)"):
        made().loss(SetBatch(torch.rand(1, 4, 2, 1, 8, 8), torch.ones(1, 4, dtype=torch.bool)))
