"""Entry point of the console script and of `python -m cuekit`."""


def main() -> None:
    """Run the command line and exit with its status."""
    from cuekit.cli.main import run

    raise SystemExit(run())


if __name__ == "__main__":
    main()
