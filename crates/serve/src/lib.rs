//! Scrubjay's servers: a volume as a network block device, and the socket by which it is steered.
