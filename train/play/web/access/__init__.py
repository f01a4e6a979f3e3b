"""What a request may use: player specs within limits, and files in given folders."""
