//! The follower on stores as agents write them. Each rule is tried with every agent of [`world::AGENTS`], whose
//! records are written here by hand, so that it is the follower that is tested and not a reader.

mod amid;
mod asking;
mod bad;
mod claude;
mod finding;
mod reading;
mod rows;
mod world;
