"""`python -m broadleaf`, the same as the `broadleaf` command."""

from broadleaf.cli import main

main()
