//! Tests of the parts that no sample file shows.
