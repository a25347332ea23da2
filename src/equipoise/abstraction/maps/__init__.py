"""From hands to buckets: `BucketMap`, and the ways to make one."""
