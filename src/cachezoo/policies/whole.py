"""Parameters that are counts."""

from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.policies.parts import Parameter


@dataclass(frozen=True)
class Whole(Parameter):
    """A whole number within [low, high]."""

    def check(self, part: str, value: float) -> float:
        """The value.

        Raises:
            ConfigError: outside its range, or no whole number.
        """
        value = super().check(part, value)
        if value != int(value):
            message = f"{part}: {self.name} = {value:g} is no whole number; {self.meaning}"
            raise ConfigError(message)
        return value
