"""`python -m deniable` is the command `deniable`."""

from deniable.cli import main

if __name__ == "__main__":
    main()
