"""The `tb-health` command. Sits above both halves of the house."""
