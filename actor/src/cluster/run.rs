//! What a run's manifest asks of this program: the same game with the same layouts, and settings that it knows.

use std::fmt::Display;

use anyhow::bail;
use fogfall_game::{GameInfo, Layout};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_proto::{Manifest, NamedLen};
use fogfall_selfplay::PlaySettings;
use fogfall_service::settings::Loader;

/// Where the run and this program's own game differ, one line each; empty if rows of one are rows of the other.
pub fn differences(manifest: &Manifest, info: &GameInfo) -> Vec<String> {
    let ours = |layout: &Layout| layout.fields().iter().map(|f| format!("{} of {}", f.name, f.len)).collect::<Vec<_>>();
    let theirs = |fields: &[NamedLen]| fields.iter().map(|f| format!("{} of {}", f.name, f.len)).collect::<Vec<_>>();
    let mut lines = Vec::new();
    if manifest.game != info.name {
        lines.push(format!("the game is {} in the run and {} here", manifest.game, info.name));
    }
    if manifest.rules != info.rules {
        lines.push("the rules text is another one".to_owned());
    }
    lines.extend(first_difference("observation field", &theirs(&manifest.observation), &ours(&info.observation)));
    lines.extend(first_difference("action", &manifest.actions, &info.actions));
    lines.extend(first_difference("hidden field", &theirs(&manifest.hidden), &ours(&info.hidden)));
    lines
}

fn first_difference<T: PartialEq + Display>(what: &str, run: &[T], here: &[T]) -> Option<String> {
    let at = (0..run.len().max(here.len())).find(|&i| run.get(i) != here.get(i))?;
    let text = |value: Option<&T>| value.map_or_else(|| "nothing".to_owned(), T::to_string);
    Some(format!("{what} {at} is {} in the run and {} here", text(run.get(at)), text(here.get(at))))
}

/// How the run's games are played. Nothing given to this process changes it: rows say which settings they came from.
///
/// # Errors
/// If the run has values that this program does not know.
pub fn play_settings(manifest: &Manifest, info: &GameInfo) -> anyhow::Result<(PlaySettings, SearchFlags)> {
    let mut loader = Loader::new();
    loader.stored("the run's manifest", &manifest.settings);
    let (search, play): (SearchFlags, PlayFlags) = (loader.load(), loader.load());
    if let Err(mistakes) = loader.finish() {
        // Not the user's mistakes.
        bail!("this program does not know the run's settings; its learner is of another version: {mistakes}");
    }
    Ok((play.play(&search, info), search))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use fogfall_game::{Game, GameSet, GameVisitor};
    use fogfall_games::Shipped;
    use fogfall_proto::WIRE_VERSION;

    use super::*;

    struct Info;

    impl GameVisitor for Info {
        type Out = GameInfo;

        fn visit<G: Game>(self, game: Arc<G>) -> GameInfo {
            game.info().clone()
        }
    }

    fn kuhn() -> (GameInfo, Manifest) {
        let info = Shipped::with("kuhn_poker", None, Info).unwrap();
        let named =
            |layout: &Layout| layout.fields().iter().map(|f| NamedLen { name: f.name.clone(), len: f.len }).collect();
        let manifest = Manifest {
            wire: WIRE_VERSION,
            run: "r".into(),
            game: info.name.clone(),
            rules: info.rules.clone(),
            observation: named(&info.observation),
            actions: info.actions.clone(),
            hidden: named(&info.hidden),
            width: 8,
            blocks: 1,
            tower: None,
            settings: BTreeMap::new(),
            log: BTreeMap::new(),
        };
        (info, manifest)
    }

    #[test]
    fn a_run_of_this_programs_game_fits_and_every_kind_of_difference_is_told() {
        let (info, manifest) = kuhn();
        assert!(differences(&manifest, &info).is_empty());
        let mut other = manifest.clone();
        other.rules = Some("others".into());
        other.observation[0].len += 1;
        other.actions.push("resign".into());
        let lines = differences(&other, &info);
        let (field, len) = (&info.observation.fields()[0].name, info.observation.fields()[0].len);
        let at = info.actions.len();
        assert_eq!(
            lines,
            [
                "the rules text is another one".to_owned(),
                format!("observation field 0 is {field} of {} in the run and {field} of {len} here", len + 1),
                format!("action {at} is resign in the run and nothing here"),
            ]
        );
    }

    #[test]
    fn games_are_played_as_the_manifest_says_whatever_is_new_in_it_and_bad_values_are_told() {
        let (info, mut manifest) = kuhn();
        manifest.settings.insert("simulations".into(), "7".into());
        manifest.settings.insert("a_setting_of_tomorrow".into(), "1".into());
        let (play, _) = play_settings(&manifest, &info).unwrap();
        assert_eq!(play.full, fogfall_search::Budget::Simulations(7));
        manifest.settings.insert("label".into(), "wisdom".into());
        let refused = play_settings(&manifest, &info).unwrap_err().to_string();
        assert!(refused.contains("label") && refused.contains("wisdom"), "{refused}");
    }
}
