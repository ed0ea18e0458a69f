"""The workload classifier's network: one LSTM over a window of requests, softmax at its end (RC-RNN, Sec. 5.2.1)."""

from torch import Tensor, nn

from cachezoo.models.lstm_init import init_lstm


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
