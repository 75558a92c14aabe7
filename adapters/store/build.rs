//! A new migration is embedded without a `cargo clean`.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
