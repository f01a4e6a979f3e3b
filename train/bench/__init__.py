"""The speed table, `rlgo bench`: its keys (`table`), what each measures (`measures`), and how (`timing`)."""
