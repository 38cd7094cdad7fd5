//! The JSON of `volume`: schema 1. Fields are added, never renamed or taken away, within a schema.

use anyhow::{Context, Result};
use scrubjay_core::volume::format::geometry;
use serde::Serialize;

/// The JSON object that is printed, as text.
pub fn document(content: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct SchemaDocument<'a, T> {
        schema: u32,
        /// Release, commit and date of the program.
        version: &'static str,
        #[serde(flatten)]
        content: &'a T,
    }
    serde_json::to_string(&SchemaDocument { schema: 1, version: scrubjay_control::version::version(), content })
        .context("the result as JSON")
}

/// A JSON object that has its schema already, with the version of the program.
pub fn versioned(content: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct VersionedDocument<'a, T> {
        #[serde(flatten)]
        content: &'a T,
        /// Release, commit and date of the program.
        version: &'static str,
    }
    serde_json::to_string(&VersionedDocument { content, version: scrubjay_control::version::version() })
        .context("the result as JSON")
}

/// The geometry of a volume.
#[derive(Debug, Serialize)]
pub struct GeometryDocument {
    /// Bytes of user data.
    bytes: u64,
    data: usize,
    parity: usize,
    layout: &'static str,
    scheme: &'static str,
    chunk_bytes: u64,
    appendix_bytes: u64,
    block_bytes: u64,
    stripes: u64,
    region_stripes: u64,
    /// The offset of the first chunk on each member, in bytes.
    data_offset: u64,
    /// Bytes that are used of each member.
    member_bytes: u64,
}

impl GeometryDocument {
    /// Makes the document of a geometry.
    pub fn of(geometry: &geometry::Geometry) -> GeometryDocument {
        let shape = geometry.layout.shape();
        GeometryDocument {
            bytes: geometry.size(),
            data: shape.data,
            parity: shape.parity,
            layout: geometry.layout.kind().name(),
            scheme: geometry.scheme.name(),
            chunk_bytes: geometry.chunk_bytes,
            appendix_bytes: geometry.appendix_bytes,
            block_bytes: geometry.block_bytes,
            stripes: geometry.stripes,
            region_stripes: geometry.region_stripes,
            data_offset: geometry.data_offset,
            member_bytes: geometry.member_bytes,
        }
    }
}
