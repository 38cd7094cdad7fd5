//! Fuzzes the pages of a volume's intents and of its written map, with the right checksum.

#![no_main]

use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::volume::format::bits::Bits;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry, WRITTEN_PAGE_BYTES};
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::format::{intent, written};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_fuzz::with_sum;

const ARRAY: Uuid = Uuid([0; 16]);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let geometry = geometry();
    check_intents(&geometry, data);
    check_written(&geometry, data);
});

/// A volume of 40,000 stripes: several pages of either kind, the last one not full.
fn geometry() -> Geometry {
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).expect("any shape");
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4 << 20, block_bytes: 512 };
    Geometry::fit(&parameters, 1 << 40, Some(40_000 * (8 << 20))).expect("room for them")
}

/// The data as a page of a kind: the magic and the checksum are right, and zeros follow.
fn page(magic: [u8; 8], data: &[u8], page_bytes: usize) -> Vec<u8> {
    let mut page = vec![0; page_bytes];
    let len = data.len().min(page_bytes);
    page[..len].copy_from_slice(&data[..len]);
    page[..8].copy_from_slice(&magic);
    with_sum(&mut page, 8);
    page
}

fn check_intents(geometry: &Geometry, data: &[u8]) {
    assert!(
        intent::IntentPage::decode(data, ARRAY, intent::IntentBit::Dirty, 0).is_err()
            || data.starts_with(&intent::MAGIC)
    );
    let block = page(intent::MAGIC, data, geometry.block_bytes as usize);
    let mut union = intent::Union::new(geometry);
    for index in 0..geometry.intent_pages {
        let Ok(page) = intent::IntentPage::decode(&block, ARRAY, intent::IntentBit::Dirty, index) else { continue };
        union.add(&page);
        // Regions of this page are as it states, all others are dirty.
        let dirty = union.clone().dirty();
        let again = intent::encode(geometry, ARRAY, intent::IntentBit::Dirty, index, &dirty);
        let written =
            intent::IntentPage::decode(&again, ARRAY, intent::IntentBit::Dirty, index).expect("it was just written");
        let mut other = intent::Union::new(geometry);
        other.add(&written);
        assert_eq!(other.dirty(), dirty);
    }
    let page = intent::IntentPage::decode(&block, ARRAY, intent::IntentBit::Dirty, u64::MAX);
    page.iter().for_each(|page| union.add(page));
    assert_eq!(union.dirty().len(), geometry.regions());
}

fn check_written(geometry: &Geometry, data: &[u8]) {
    assert!(written::WrittenPage::decode(data, ARRAY, 0).is_err() || data.starts_with(&written::MAGIC));
    let block = page(written::MAGIC, data, WRITTEN_PAGE_BYTES as usize);
    for index in 0..geometry.written_pages {
        let mut map = written::WrittenMap::new(geometry);
        let Ok(page) = written::WrittenPage::decode(&block, ARRAY, index) else { continue };
        map.add(geometry, &page);
        if page.generation == 0 {
            assert_eq!(map.stripes, Bits::ones(geometry.stripes), "no version is older than the first");
            continue;
        }
        assert_eq!(map.generations[index as usize], page.generation);
        let again = written::encode(geometry, ARRAY, index, page.generation, page.trim_horizon, &map.stripes);
        let mut other = written::WrittenMap::new(geometry);
        other.add(geometry, &written::WrittenPage::decode(&again, ARRAY, index).expect("it was just written"));
        assert_eq!(other, map);
    }
}
