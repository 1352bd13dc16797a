//! Tests of registry.
