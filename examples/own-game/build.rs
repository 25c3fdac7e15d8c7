//! Links the learner to libtorch, whose place Fogfall's own build script has found and passes on. The actor needs none.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Ok(libtorch) = std::env::var("DEP_FOGFALL_LEARNER_LIBTORCH_LIB") else { return };
    println!("cargo::rustc-link-arg-bin=own-learner=-Wl,--disable-new-dtags,-rpath,{libtorch}");
    // Nothing of libtorch_cuda is used by name: without this line the linker drops it and no GPU is ever found.
    if Path::new(&libtorch).join("libtorch_cuda.so").exists() {
        println!("cargo::rustc-link-arg-bin=own-learner=-Wl,--no-as-needed,-ltorch_cuda,--as-needed");
    }
}
