//! SimKafka, driven by hand: what the group, the clients and the topic do, with and without faults.

mod desk;
mod faults;
mod group;
mod incidents;
mod question;
mod random;
mod reading;
mod source;
