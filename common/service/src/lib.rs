//! The shell around a process: settings, logs, metrics, admin routes, shutdown.
