//! What is told: open incidents, and those that were over of late.

use crate::incident::{IncidentKey, IncidentRow, PastIncident};
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// What is told.
#[derive(Debug, Default)]
pub(crate) struct IncidentBook {
    pub incidents: BTreeMap<IncidentKey, IncidentRow>,
    /// Incidents that were over in the last 30 days, and were reported.
    pub past: BTreeMap<IncidentKey, PastIncident>,
    /// Messages about incidents wait until then: after a suspend things are looked at first.
    pub tells_from: UnixSeconds,
}
