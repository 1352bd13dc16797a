//! Tests of overlay.
