"""The command, for ``python -m lacunet.cli``."""

from lacunet.cli import main

if __name__ == "__main__":
    main()
