"""The network: planes of a position, its layers, its file, its compiled evaluation."""
