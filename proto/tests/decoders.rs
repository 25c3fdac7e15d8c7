//! Decoders under fire: any bytes, fixtures with bytes changed, cut off or announcing far more than there is, and messages
//! of any content. The seed is fixed; the fuzzer (`proto/fuzz`) goes on from here.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod survive;

use std::collections::BTreeMap;

use fogfall_proto::{
    GameResult, LeadRecord, Manifest, NamedLen, PartId, PartOfGame, RowLayout, TowerSize, Trajectory, Version,
    WIRE_VERSION, WeightsHead,
};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use survive::survive;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

/// Fixtures of all versions that are read.
fn messages() -> Vec<Vec<u8>> {
    [WIRE_VERSION - 1, WIRE_VERSION].into_iter().flat_map(fixtures::all).map(|(_, bytes)| bytes).collect()
}

#[test]
fn fixtures_cut_off_anywhere_are_survived() {
    for message in messages() {
        (0..=message.len()).for_each(|end| survive(&message[..end]));
    }
}

#[test]
fn lengths_of_four_gigabytes_anywhere_are_survived() {
    // bin32, str32, array32 and map32 with their longest lengths.
    let headers = [0xc6, 0xdb, 0xdd, 0xdf].map(|marker| [marker, 0xff, 0xff, 0xff, 0xff]);
    for message in messages() {
        for (at, header) in (0..message.len().min(600)).flat_map(|at| headers.iter().map(move |header| (at, header))) {
            survive(&[&message[..at], header, &message[at..]].concat());
            survive(&[&message[..at], header, message.get(at + 5..).unwrap_or(&[])].concat());
        }
    }
}

#[test]
fn lists_in_lists_without_end_are_survived() {
    for marker in [0x91, 0x81, 0xdc] {
        survive(&vec![marker; 100_000]);
    }
    let unknown_field = [&[0x82, 0xa1, b'x'][..], &vec![0x91; 100_000]].concat();
    survive(&unknown_field);
}

/// Numbers of a row: mostly zeros and ones, as games have them.
fn words(most: usize) -> impl Strategy<Value = Vec<u32>> {
    let word = prop_oneof![4 => Just(0), 2 => Just(1.0_f32.to_bits()), 1 => any::<u32>()];
    proptest::collection::vec(word, 0..most)
}

fn results() -> impl Strategy<Value = GameResult> {
    prop_oneof![Just(GameResult::Truncated), (-1e9_f32..1e9).prop_map(GameResult::Finished)]
}

fn fields() -> impl Strategy<Value = Vec<NamedLen>> {
    proptest::collection::vec((".*", 0_usize..100).prop_map(|(name, len)| NamedLen { name, len }), 0..5)
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map(".*", ".*", 0..5)
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        survive(&bytes);
    }

    #[test]
    fn fixtures_with_bytes_changed_are_survived(
        message in any::<Index>(),
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        end in any::<Index>(),
    ) {
        let messages = messages();
        let mut bytes = message.get(&messages).clone();
        for (at, byte) in changes {
            *at.get_mut(&mut bytes) = byte;
        }
        survive(&bytes);
        survive(&bytes[..end.index(bytes.len())]);
    }

    #[test]
    fn rows_come_back_byte_for_byte_packed_or_not(words in words(3000), wire in WIRE_VERSION - 1..=WIRE_VERSION) {
        let rows: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let part = Trajectory {
            wire,
            run: "r".into(),
            rules_hash: 1,
            settings_hash: 2,
            part: PartId { publisher: 3, sequence: 4 },
            part_of_game: PartOfGame::WHOLE,
            slot: 5,
            seed: 6,
            result: GameResult::Truncated,
            decisions: 7,
            evaluations: 8,
            row_count: 9,
            rows,
        };
        prop_assert_eq!(Trajectory::decode(&part.encode()).unwrap(), part);
    }

    #[test]
    fn parts_of_a_long_game_hold_its_rows_and_its_counts_once(
        game in results().prop_flat_map(|result| (Just(result), 1_u32..40, any::<u64>(), 0_usize..3000)),
        numbers in (any::<u32>(), any::<u32>(), any::<u64>()),
    ) {
        let (result, row_count, seed, most_bytes) = game;
        let row_bytes = RowLayout::new(10, 2, 3).row_bytes();
        let whole = Trajectory {
            wire: WIRE_VERSION,
            run: "r".into(),
            rules_hash: numbers.2,
            settings_hash: 2,
            part: PartId { publisher: seed, sequence: u64::from(numbers.0) },
            part_of_game: PartOfGame::WHOLE,
            slot: numbers.1,
            seed,
            result,
            decisions: row_count,
            evaluations: numbers.2 >> 1,
            row_count,
            rows: (0..row_count as usize * row_bytes).map(|i| (i / 7) as u8).collect(),
        };
        let parts: Vec<_> =
            whole.clone().split(most_bytes).iter().map(|part| Trajectory::decode(&part.encode()).unwrap()).collect();
        prop_assert_eq!(parts.iter().flat_map(|part| part.rows.clone()).collect::<Vec<_>>(), whole.rows);
        prop_assert_eq!(parts.iter().map(|part| part.row_count).sum::<u32>(), row_count);
        prop_assert_eq!(parts.iter().map(|part| part.decisions).sum::<u32>(), row_count);
        prop_assert_eq!(parts.iter().map(|part| part.evaluations).sum::<u64>(), whole.evaluations);
        prop_assert_eq!(parts.iter().filter(|part| part.part_of_game.is_last()).count(), 1);
        for (index, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.part.sequence, whole.part.sequence + index as u64);
            prop_assert_eq!(part.part_of_game, PartOfGame { index: index as u32, count: parts.len() as u32 });
            prop_assert_eq!(part.rows.len(), part.row_count as usize * row_bytes);
            assert!(part.rows.len() <= most_bytes.max(row_bytes), "{} of {most_bytes}", part.rows.len());
        }
    }

    #[test]
    fn any_manifest_comes_back(
        names in (".*", ".*", proptest::option::of(".*")),
        layout in (fields(), proptest::collection::vec(".*", 0..5), fields()),
        shape in (any::<u32>(), any::<u32>()),
        settings in (texts(), texts()),
    ) {
        let manifest = Manifest {
            wire: WIRE_VERSION,
            run: names.0,
            game: names.1,
            rules: names.2,
            observation: layout.0,
            actions: layout.1,
            hidden: layout.2,
            width: shape.0 as usize,
            blocks: shape.1 as usize,
            tower: (shape.0 > shape.1).then_some(TowerSize { channels: shape.0 as usize, blocks: shape.1 as usize }),
            settings: settings.0,
            log: settings.1,
        };
        prop_assert_eq!(Manifest::decode(&manifest.encode()).unwrap(), manifest);
    }

    #[test]
    fn any_announcement_comes_back(
        epoch in any::<u32>(),
        head in proptest::option::of((any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u128>())),
    ) {
        let newest = head.map(|(epoch, step, ordinal, bytes, digest)| {
            WeightsHead { version: Version { epoch, step }, ordinal, bytes, digest }
        });
        let record = LeadRecord { wire: WIRE_VERSION, epoch, newest };
        prop_assert_eq!(LeadRecord::decode(&record.encode()).unwrap(), record);
    }
}
