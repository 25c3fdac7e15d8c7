//! What all messages share: MessagePack, a hard limit, and the wire version, which is read before anything else, so that a
//! message of another version is refused as that and not as damaged.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ProtoError;

/// The version that messages are written in. Readers accept this one and the one before.
///
/// 1: the first. 2: rows may be packed, and games come in several parts.
pub const WIRE_VERSION: u16 = 2;

/// The oldest version that is read.
pub const OLDEST_WIRE_VERSION: u16 = WIRE_VERSION - 1;

/// No encoded message may be longer than this: NATS takes no longer ones unless it is told to.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// As MessagePack, fields by name: readers skip those that they do not know.
pub(crate) fn encode_named(message: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec_named(message).expect("a message is plain data")
}

/// Decodes a message within the limit and of a known wire version.
pub(crate) fn decode<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, ProtoError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(ProtoError::TooLong { bytes: bytes.len(), limit: MAX_MESSAGE_BYTES });
    }
    let malformed = |e: rmp_serde::decode::Error| ProtoError::Malformed { what, reason: e.to_string() };
    let Wire(found) = rmp_serde::from_slice(bytes).map_err(malformed)?;
    if !(OLDEST_WIRE_VERSION..=WIRE_VERSION).contains(&found) {
        return Err(ProtoError::WireVersion { what, found, oldest: OLDEST_WIRE_VERSION, newest: WIRE_VERSION });
    }
    rmp_serde::from_slice(bytes).map_err(malformed)
}

/// The wire version of any message: its field `wire`, or the first one where fields have no names.
struct Wire(u16);

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WireVisitor)
    }
}

struct WireVisitor;

impl<'de> Visitor<'de> for WireVisitor {
    type Value = Wire;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message with its wire version")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Wire, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<&str>()? {
            if key == "wire" {
                found = Some(Wire(map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| serde::de::Error::missing_field("wire"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Wire, A::Error> {
        let found = seq.next_element()?.ok_or_else(|| serde::de::Error::missing_field("wire"))?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Wire(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Note {
        wire: u16,
        text: String,
    }

    #[derive(Serialize)]
    struct Other {
        text: Vec<u8>,
        wire: u16,
    }

    fn refusal(bytes: &[u8]) -> String {
        decode::<Note>("note", bytes).unwrap_err().to_string()
    }

    #[test]
    fn this_version_and_the_one_before_are_read_and_the_ones_beside_them_refused_with_both_numbers() {
        assert_eq!((OLDEST_WIRE_VERSION, WIRE_VERSION), (1, 2));
        for wire in [1, 2] {
            let note = Note { wire, text: "x".into() };
            for bytes in [encode_named(&note), rmp_serde::to_vec(&note).unwrap()] {
                assert_eq!(decode::<Note>("note", &bytes).unwrap().wire, wire);
            }
        }
        for wire in [0, 3] {
            let reason = format!("note has wire version {wire}; this program reads 1 to 2");
            // Whatever else it holds, and wherever the version stands.
            assert_eq!(refusal(&encode_named(&Other { text: vec![1, 2], wire })), reason);
            assert_eq!(refusal(&rmp_serde::to_vec(&(wire, 1.5, [(); 3])).unwrap()), reason);
        }
    }

    #[test]
    fn what_is_no_message_or_too_long_is_refused_with_the_reason() {
        assert_eq!(refusal(b""), "not a note: IO error while reading marker: failed to fill whole buffer");
        assert_eq!(refusal(b"\x80"), "not a note: missing field `wire`");
        assert_eq!(refusal(b"\x90"), "not a note: missing field `wire`");
        assert!(refusal(&encode_named(&Other { text: vec![], wire: 2 })).starts_with("not a note: "));
        let long = vec![0; MAX_MESSAGE_BYTES + 1];
        assert_eq!(refusal(&long), "message of 1048577 bytes is over the limit of 1048576");
    }
}
