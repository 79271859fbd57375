"""From two histories to where and how they part. Pure: no files, no clock."""
