//! What the adapters promise, agent by agent and over the whole registry.

mod argv;
mod overlay;
mod registry;
mod skills;
