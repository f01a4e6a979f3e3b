"""The server: access, the WebSocket, HTTP requests, and the process."""
