"""What the runtime answers to bad input."""


class RuntimeFault(Exception):
    """A bundle, a call or a state that is refused; one line says what and where."""
