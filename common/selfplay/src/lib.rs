//! Game slots: searched decisions become rows, games become trajectories; matches between agents.
