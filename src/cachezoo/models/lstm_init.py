"""How the LSTMs' weights begin."""

import torch
from torch import nn


def init_lstm(lstm: nn.LSTM) -> None:
    """Forget-gate biases of 1, so that a fresh network remembers (Jozefowicz et al., ICML 2015)."""
    units = lstm.hidden_size
    with torch.no_grad():
        for name, values in lstm.named_parameters():
            if name.startswith("bias_ih"):
                values.zero_()
                values[units : 2 * units] = 1.0
            elif name.startswith("bias_hh"):
                values.zero_()
