//! Knows the lines of a load file: what is published, and to which partition.
