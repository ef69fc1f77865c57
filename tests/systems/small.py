"""A small system with flows, for tests that need densities but no trained weights."""

from coterie.systems.dac.config import DACConfig

MAF = DACConfig(
    width=16,
    heads=2,
    slots=4,
    encoder_blocks=1,
    decoder_blocks=1,
    density="maf",
    context=6,
    flow_blocks=2,
    flow_width=8,
)
