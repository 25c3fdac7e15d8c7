//! Settings: each is declared once and is the same as a flag, an environment variable and a TOML key.
//!
//! [`settings!`](crate::settings!) declares a group. A [`Loader`] gathers what flags, environment and file say, fills
//! groups in, and reports every mistake at once. [`diff`] compares two runs by [`Class`].
//!
//! ```
//! use fogfall_service::settings::{Loader, Settings};
//!
//! fogfall_service::settings! {
//!     /// How a learner steps.
//!     pub struct StepSettings {
//!         /// Learning rate after warm-up.
//!         learning_rate: f64 = 1e-3, in 1e-7..=1.0, class Learning;
//!         /// Who steps.
//!         optimizer: String = "adamw".into(), one_of &["adamw", "sgd"], class Learning;
//!     }
//! }
//!
//! let mut loader = Loader::new();
//! loader.environment([("FOGFALL_LEARNING_RATE".into(), "0.01".into())]);
//! let step: StepSettings = loader.load();
//! assert!(loader.finish().is_ok());
//! assert_eq!(step.learning_rate, 0.01);
//! assert_eq!(step.get("optimizer").as_deref(), Some("adamw"));
//! ```

mod args;
mod compare;
mod declare;
mod file;
mod loader;
mod mistake;
mod value;

use std::collections::BTreeMap;

pub use args::{with_config, with_settings};
pub use compare::{Change, Difference, diff};
pub use loader::Loader;
pub use mistake::{Mistake, Mistakes, Origin};
pub use value::{ByteSize, Value, Within, allowed_choices, allowed_in, parse_choice, parse_in};

/// The environment variables of settings begin with this.
pub const ENV_PREFIX: &str = "FOGFALL_";

/// What a resumed run may do with a setting that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// What the run is: refused.
    Identity,
    /// How it learns: needs to be asked for.
    Learning,
    /// How it is run: free.
    Operational,
}

/// What is known of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name: a TOML key; `--with-dashes` as a flag; in capitals after [`ENV_PREFIX`] in the environment.
    pub key: &'static str,
    /// What it does.
    pub help: String,
    /// Its default, as text.
    pub default: String,
    /// What is allowed, as text.
    pub allowed: String,
    /// True if it is a switch: as a flag it needs no value.
    pub switch: bool,
    /// What a resumed run may do with it.
    pub class: Class,
}

/// Why a setting could not be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// The group has no such setting.
    Unknown,
    /// The value is not allowed.
    Value,
}

/// A group of settings, declared by [`settings!`](crate::settings!).
pub trait Settings: Default {
    /// What the group is about.
    const TITLE: &'static str;

    /// All settings of the group.
    fn keys() -> &'static [Key];

    /// Sets one from text.
    ///
    /// # Errors
    /// [`SetError`]; nothing has changed.
    fn set(&mut self, key: &str, text: &str) -> Result<(), SetError>;

    /// One as the text that sets it.
    fn get(&self, key: &str) -> Option<String>;

    /// All of them as text: for manifests, checkpoints and status.
    fn texts(&self) -> BTreeMap<String, String> {
        let text = |key: &Key| (key.key.to_owned(), self.get(key.key).expect("a group knows its keys"));
        Self::keys().iter().map(text).collect()
    }
}

impl Key {
    /// Its name as a flag, without dashes in front.
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// Its name in the environment.
    pub fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.to_uppercase())
    }
}

#[cfg(test)]
mod tests;
