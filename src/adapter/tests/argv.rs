//! Tests of argv.
