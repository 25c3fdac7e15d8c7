//! Settings as flags of a clap command. Values are taken as text, so that their mistakes are reported with all others.

use clap::builder::StyledStr;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::settings::{Key, Settings};

/// Keeps the ids of settings apart from a command's own arguments.
const PREFIX: &str = "setting:";

/// The id of the file's flag.
pub(crate) const CONFIG: &str = "settings-file";

/// Adds `--config FILE`.
pub fn with_config(command: Command) -> Command {
    let help = "TOML file with settings, one `key = value` a line [env: FOGFALL_CONFIG]";
    command.arg(Arg::new(CONFIG).long("config").value_name("FILE").help(help))
}

/// Adds a flag for each setting of a group, under the group's title.
pub fn with_settings<T: Settings>(command: Command) -> Command {
    T::keys().iter().fold(command, |command, key| command.arg(arg(key).help_heading(T::TITLE.trim())))
}

fn arg(key: &Key) -> Arg {
    let default = if key.default.is_empty() { "not set" } else { &key.default };
    let help = format!("{} [default: {default}] [{}] [env: {}]", key.help, key.allowed, key.env());
    let arg = Arg::new(format!("{PREFIX}{}", key.key)).long(key.flag()).action(ArgAction::Set);
    let arg = arg.value_name("VALUE").help(StyledStr::from(help)).allow_negative_numbers(true);
    if key.switch { arg.num_args(0..=1).require_equals(true).default_missing_value("true") } else { arg }
}

/// The settings given as flags, with their values.
pub(crate) fn given_flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let given = |id: &clap::Id| {
        let key = id.as_str().strip_prefix(PREFIX)?;
        let on_the_line = matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let text = matches.try_get_one::<String>(id.as_str()).ok().flatten().filter(|_| on_the_line)?;
        Some((key.to_owned(), text.clone()))
    };
    matches.ids().filter_map(given).collect()
}
