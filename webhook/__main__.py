"""`python -m webhook` is `custom-scheduler`."""

from webhook.cli import main

if __name__ == "__main__":
    main()
