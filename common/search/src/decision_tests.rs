//! Tests of labels and choice rules.
