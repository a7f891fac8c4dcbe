//! One name for both model checkers: `cfg(layby_model)` is `any(layby_loom, layby_shuttle)`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(layby_model)");
    let checkers = ["CARGO_CFG_LAYBY_LOOM", "CARGO_CFG_LAYBY_SHUTTLE"];
    if checkers.iter().any(|checker| std::env::var_os(checker).is_some()) {
        println!("cargo::rustc-cfg=layby_model");
    }
}
