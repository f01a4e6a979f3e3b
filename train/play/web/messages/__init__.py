"""What the page and the server tell each other: requests, positions, and values taken apart."""
