"""How much RAM and how much SSD for the money: a search over sizes and hierarchies, and its front."""
