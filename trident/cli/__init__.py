"""The command line `trident`: where topologies stand, and the decisions of a person."""
