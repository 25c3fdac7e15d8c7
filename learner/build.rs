//! Links the learner's programs and tests to libtorch: where to find it at run time, and its CUDA part if there is one.
//!
//! `torch-sys` tells where libtorch lies; only packages that depend on it directly hear that, hence the dependency. It is
//! passed on in the same way: a program of one's own built on this library sees it as `DEP_FOGFALL_LEARNER_LIBTORCH_LIB`
//! in its build script and links with these two lines of its own.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Ok(libtorch) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    println!("cargo::metadata=LIBTORCH_LIB={libtorch}");
    println!("cargo::rerun-if-changed={libtorch}");

    // An old-style RPATH also serves the libraries that libtorch itself loads.
    println!("cargo::rustc-link-arg=-Wl,--disable-new-dtags,-rpath,{libtorch}");
    // No symbol of libtorch_cuda is used by name: without this the linker drops it and no GPU is ever found.
    if Path::new(&libtorch).join("libtorch_cuda.so").exists() {
        println!("cargo::rustc-link-arg=-Wl,--no-as-needed,-ltorch_cuda,--as-needed");
    }
}
