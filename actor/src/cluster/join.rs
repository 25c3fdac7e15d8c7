//! The way to a run: its bus, and what its learner says that it is.

use std::sync::Arc;

use anyhow::Context;
use fogfall_bus::{Bus, BusError, NatsBus};
use fogfall_proto::Manifest;

use super::{order::Order, process::Process};
use crate::Seams;

/// Connects to the run's bus; `None` if the process is to stop first.
///
/// # Errors
/// If waiting cannot help.
pub fn connect(process: &Process, order: &Order, seams: &Seams) -> anyhow::Result<Option<Arc<dyn Bus>>> {
    let (settings, run) = (order.bus(), &order.process.run);
    let connected = &process.needs.bus;
    let bus = process.persist("connecting to the bus", connected, BusError::may_pass, async || {
        NatsBus::connect(&settings, run).await
    })?;
    if bus.is_some() {
        connected.met();
        tracing::info!(run, "connected to the bus");
    }
    Ok(bus.map(|bus| (seams.bus)(Arc::new(bus))))
}

/// Waits until a learner has said what the run is; `None` if the process is to stop first.
///
/// # Errors
/// If waiting cannot help.
pub fn await_manifest(process: &Process, bus: &Arc<dyn Bus>) -> anyhow::Result<Option<Manifest>> {
    let known = &process.needs.manifest;
    let mut said = false;
    loop {
        let asked =
            process.persist("asking for the run's manifest", known, BusError::may_pass, async || bus.manifest().await);
        match asked.context("the run's manifest cannot be read")? {
            None => return Ok(None),
            Some(Some(manifest)) => {
                known.met();
                tracing::info!(run = manifest.run, game = manifest.game, "found the run's manifest");
                return Ok(Some(manifest));
            }
            Some(None) if !said => {
                known.unmet("no learner has begun this run yet");
                tracing::info!("waiting for the run's manifest: no learner has begun this run yet");
                said = true;
            }
            Some(None) => known.unmet("no learner has begun this run yet"),
        }
        if process.stop.wait(process.pause()) {
            return Ok(None);
        }
    }
}
