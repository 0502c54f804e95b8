"""``python -m reproduce``: list the experiments, or run one."""

from reproduce.command import main

if __name__ == "__main__":
    main()
