"""The betting tree and the layout of what solvers store on it."""
