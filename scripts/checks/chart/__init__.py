"""What checks of the Helm chart share: rendering it, reading what came out, and running that without a cluster."""
