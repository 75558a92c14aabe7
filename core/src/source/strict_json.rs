//! Knows JSON without any of the liberties that readers take with it.
