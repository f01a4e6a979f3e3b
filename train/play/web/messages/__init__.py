"""Messages between the page and the server: requests, positions, and values by window."""
