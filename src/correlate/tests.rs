//! Every scenario of the rule by its name.
