"""The networks of the two LSTMs: RC-RNN, Sec. 5.2.1 and 5.2.2."""

import torch
from torch import Tensor, nn

DURATIONS = 3


class CachingLstm(nn.Module):
    """LSTM over requests; at each of them, for each teacher, the odds of `cached` and of the three durations."""

    def __init__(self, inputs: int, layers: int, units: int, teachers: int = 1) -> None:
        """Build it with seeded weights of torch's default generator."""
        super().__init__()
        self.lstm = nn.LSTM(inputs, units, layers, batch_first=True)
        self.cached = nn.Linear(units, teachers)
        self.duration = nn.Linear(units, DURATIONS * teachers)
        init_lstm(self.lstm)

    def forward(
        self, rows: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Logits along sequences.

        Args:
            rows: float32[B, T, F].
            state: hidden and cell state float32[layers, B, units] before the first row; None is zero.

        Returns:
            Logits of cached [B, T, K] by teacher, of the durations [B, T, K, 3], and the state after the last row.
        """
        hidden, state = self.lstm(rows, state)
        durations = self.duration(hidden).unflatten(-1, (-1, DURATIONS))
        return self.cached(hidden), durations, state


def probabilities(cached: Tensor, duration: Tensor) -> Tensor:
    """Outputs [..., 4] (cached, soon, mean, late) from logits [...] and [..., 3]."""
    return torch.cat([torch.sigmoid(cached)[..., None], torch.softmax(duration, -1)], -1)


class WorkloadLstm(nn.Module):
    """LSTM whose last hidden state is classified."""

    def __init__(self, inputs: int, layers: int, units: int, classes: int) -> None:
        """Build it with seeded weights of torch's default generator."""
        super().__init__()
        self.lstm = nn.LSTM(inputs, units, layers, batch_first=True)
        self.category = nn.Linear(units, classes)
        init_lstm(self.lstm)

    def forward(self, rows: Tensor) -> Tensor:
        """Logits [B, classes] of windows float32[B, T, F]."""
        hidden, _ = self.lstm(rows)
        logits: Tensor = self.category(hidden[:, -1])
        return logits


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
