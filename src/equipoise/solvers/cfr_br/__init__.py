"""CFR-BR: the least exploitable strategy that an abstraction can hold."""
