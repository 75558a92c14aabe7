//! The binary `amends`.

use std::process::ExitCode;

fn main() -> ExitCode {
    amends::cli::main()
}
