//! Gathers settings from all sources, fills groups in, and reports every mistake at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::settings::args::given_flags;
use crate::settings::mistake::{Mistake, Mistakes, Origin, nearest};
use crate::settings::{ENV_PREFIX, Key, SetError, Settings, file};

/// Environment variables with our prefix that are not settings.
const NOT_SETTINGS: [&str; 3] = ["FOGFALL_CUDA", "FOGFALL_BLESS", "FOGFALL_LOG"];

/// The file's own setting, for the environment.
const CONFIG_ENV: &str = "FOGFALL_CONFIG";

/// Gathers settings. What is added later wins: first what is stored, then the file, the environment, and flags.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    entries: Vec<Entry>,
    known: Vec<&'static str>,
    mistakes: Vec<Mistake>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    text: String,
    origin: Origin,
}

impl Loader {
    /// Nothing but defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that a process was given: the file named by `--config` or `FOGFALL_CONFIG`, the environment, and flags.
    pub fn from_process(matches: &clap::ArgMatches, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut loader = Self::new();
        let variables: Vec<_> = variables.into_iter().collect();
        let flag = matches.try_get_one::<String>(super::args::CONFIG).ok().flatten().cloned();
        let named = variables.iter().find(|(name, _)| name == CONFIG_ENV).map(|(_, path)| path.clone());
        if let Some(path) = flag.or(named) {
            loader.file(Path::new(&path));
        }
        loader.environment(variables);
        loader.flags(given_flags(matches));
        loader
    }

    /// Adds what a checkpoint or a manifest holds. It lies below all other sources, whenever it is added, and names
    /// there that no group knows are no mistake: another version may have written them.
    pub fn stored(&mut self, what: &str, texts: &BTreeMap<String, String>) {
        let entry = |(key, text): (&String, &String)| Entry {
            key: key.clone(),
            text: text.clone(),
            origin: Origin::Stored(what.to_owned()),
        };
        self.entries.splice(0..0, texts.iter().map(entry));
    }

    /// Adds a TOML file.
    pub fn file(&mut self, path: &Path) {
        match fs::read_to_string(path) {
            Ok(content) => self.file_content(path, &content),
            Err(e) => {
                let origin = Origin::Flag("config".into());
                self.mistakes.push(Mistake::File { origin, reason: format!("cannot read {}: {e}", path.display()) });
            }
        }
    }

    /// Adds the content of a TOML file.
    pub fn file_content(&mut self, path: &Path, content: &str) {
        let (entries, mistakes) = file::parse(path, content);
        self.entries.extend(entries.into_iter().map(|(key, text, origin)| Entry { key, text, origin }));
        self.mistakes.extend(mistakes);
    }

    /// Adds the environment's variables that begin with [`ENV_PREFIX`].
    pub fn environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, text) in variables {
            let Some(key) = name.strip_prefix(ENV_PREFIX) else { continue };
            if !NOT_SETTINGS.contains(&name.as_str()) && name != CONFIG_ENV {
                self.entries.push(Entry { key: key.to_lowercase(), text, origin: Origin::Environment(name) });
            }
        }
    }

    /// Adds flags, as setting and value.
    pub fn flags(&mut self, flags: impl IntoIterator<Item = (String, String)>) {
        for (key, text) in flags {
            let origin = Origin::Flag(key.replace('_', "-"));
            self.entries.push(Entry { key, text, origin });
        }
    }

    /// Fills a group in. Mistakes are noted and leave the setting as it was.
    pub fn load<T: Settings>(&mut self) -> T {
        self.accept::<T>();
        let mut settings = T::default();
        for Entry { key, text, origin } in &self.entries {
            if settings.set(key, text) == Err(SetError::Value) {
                let known = key_of::<T>(key).expect("a group knows the keys it refuses values of");
                let (key, text, allowed) = (known.key, text.clone(), known.allowed.clone());
                self.mistakes.push(Mistake::Value { key, text, origin: origin.clone(), allowed });
            }
        }
        settings
    }

    /// Takes a group's names for known without filling it in: they are for another program that shares the file.
    pub fn accept<T: Settings>(&mut self) {
        self.known.extend(T::keys().iter().map(|key| key.key));
    }

    /// True if a setting was given, by whatever source above the stored ones.
    pub fn is_given(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && !matches!(entry.origin, Origin::Stored(_)))
    }

    /// Notes that settings do not fit together.
    pub fn refuse(&mut self, reason: impl Into<String>) {
        self.mistakes.push(Mistake::Together { reason: reason.into() });
    }

    /// Says what was wrong, once all groups are loaded.
    ///
    /// # Errors
    /// [`Mistakes`], in order of the sources, with names that no loaded group knows.
    pub fn finish(self) -> Result<(), Mistakes> {
        let mut mistakes: Vec<Mistake> = Vec::new();
        let unknown = self
            .entries
            .into_iter()
            .filter(|entry| !matches!(entry.origin, Origin::Stored(_)) && !self.known.contains(&entry.key.as_str()));
        let unknown = unknown.map(|Entry { key, origin, .. }| {
            let nearest = nearest(&key, self.known.iter().copied());
            Mistake::Unknown { key, origin, nearest }
        });
        for mistake in self.mistakes.into_iter().chain(unknown) {
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
        if mistakes.is_empty() { Ok(()) } else { Err(Mistakes(mistakes)) }
    }
}

fn key_of<T: Settings>(name: &str) -> Option<&'static Key> {
    T::keys().iter().find(|key| key.key == name)
}
