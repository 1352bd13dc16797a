//! Finding programs, without starting any.
