"""``python -m isthmus``: the command, wherever its script is."""

from isthmus.cli.main import main

if __name__ == "__main__":
    main()
