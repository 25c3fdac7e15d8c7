"""Container images where no container engine is: what Dockerfile says, laid out in a folder and run there."""
