"""`python -m trident` is the command `trident`."""

from trident.cli.app import main

main()
