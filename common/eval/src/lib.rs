//! Honest numbers: intervals, exact exploitability, exhaustive referees.
