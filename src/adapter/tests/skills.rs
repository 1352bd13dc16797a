//! Tests of skills.
