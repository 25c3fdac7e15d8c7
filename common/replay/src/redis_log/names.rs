//! The keys of one run's log. The run stands in braces, a hash tag: all keys of a run lie in one slot of a cluster.
//!
//! | key | type | what |
//! |---|---|---|
//! | `fogfall:{RUN}:log` | hash | `layout`, `identity`, `first` (row held), `end` (rows ever stored), `held` (parts), `parts` (ever stored or noted) |
//! | `fogfall:{RUN}:parts` | sorted set | the first position of each part held, by itself |
//! | `fogfall:{RUN}:part:N` | string | the rows of the part that begins at position N |
//! | `fogfall:{RUN}:staged:PART` | string | rows on their way into the log; gone in a minute if whoever set them is |
//! | `fogfall:{RUN}:below` | hash | publisher: all its parts with smaller numbers are stored, but for the forgotten |
//! | `fogfall:{RUN}:ranges` | sorted set | `publisher-from-to`, in lexical order: the parts stored beyond a gap, `to` not among them |
//! | `fogfall:{RUN}:forgotten` | hash | publisher: `from-to`, among which nobody can tell what is stored |
//! | `fogfall:{RUN}:heard` | sorted set | publisher by the count of parts when it was last heard |

use fogfall_proto::PartId;

use crate::ReplayError;

/// The names of one run's keys.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) log: String,
    pub(crate) parts: String,
    pub(crate) below: String,
    pub(crate) ranges: String,
    pub(crate) forgotten: String,
    pub(crate) heard: String,
    /// Followed by a part's first position.
    pub(crate) part: String,
    /// Followed by a part's id.
    staged: String,
}

impl Names {
    /// The names for `run`, which may not be empty or hold braces.
    pub(crate) fn new(run: &str) -> Result<Self, ReplayError> {
        if run.is_empty() || run.contains(['{', '}']) {
            return Err(ReplayError::Settings { what: format!("the run '{run}' is empty or holds braces") });
        }
        let name = |what: &str| format!("fogfall:{{{run}}}:{what}");
        Ok(Self {
            log: name("log"),
            parts: name("parts"),
            below: name("below"),
            ranges: name("ranges"),
            forgotten: name("forgotten"),
            heard: name("heard"),
            part: name("part:"),
            staged: name("staged:"),
        })
    }

    pub(crate) fn part_at(&self, position: u64) -> String {
        format!("{}{position}", self.part)
    }

    pub(crate) fn staged(&self, part: PartId) -> String {
        format!("{}{part}", self.staged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_carries_the_run_as_its_hash_tag() {
        let names = Names::new("winter").unwrap();
        assert_eq!(names.part_at(12), "fogfall:{winter}:part:12");
        for name in [&names.log, &names.parts, &names.below, &names.ranges, &names.forgotten, &names.heard] {
            assert!(name.starts_with("fogfall:{winter}:"), "{name}");
        }
        assert!(Names::new("").is_err() && Names::new("a}b").is_err());
    }
}
