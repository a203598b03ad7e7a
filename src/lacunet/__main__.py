"""The command, for ``python -m lacunet``."""

from lacunet.cli import main

if __name__ == "__main__":
    main()
