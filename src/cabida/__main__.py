"""``python -m cabida``."""

from cabida.faces.cli import main

if __name__ == "__main__":
    main()
