//! Intel's ISA-L, if the machine has the library: the benchmark's baseline. Nothing else uses it.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::mem;

// The signatures in erasure_code.h, raid.h and crc.h of ISA-L 2.
type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type EncodeData = unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const u8, *const *mut u8);
type PqGen = unsafe extern "C" fn(c_int, c_int, *const *const c_void) -> c_int;
type Crc32Iscsi = unsafe extern "C" fn(*const c_uchar, c_int, c_uint) -> c_uint;

/// The functions of the library that have a counterpart here.
#[derive(Clone, Copy, Debug)]
pub struct Isal {
    init_tables: InitTables,
    encode_data: EncodeData,
    pq_gen: PqGen,
    crc32_iscsi: Crc32Iscsi,
}

/// The factors of a code in the form that ISA-L takes.
#[derive(Clone, Debug)]
pub struct Tables {
    data: usize,
    parity: usize,
    bytes: Vec<u8>,
}

impl Isal {
    /// Opens the library; `None` if the machine lacks it.
    pub fn load() -> Option<Isal> {
        // SAFETY: the name is a string; the library is a plain one, and loading it has no side effects to guard
        // against.
        let library = unsafe { libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: the library is open, and is never closed.
            let address = unsafe { libc::dlsym(library, name.as_ptr().cast::<c_char>()) };
            (!address.is_null()).then_some(address)
        };
        let (init, encode) = (symbol(c"ec_init_tables")?, symbol(c"ec_encode_data")?);
        let (pq, crc) = (symbol(c"pq_gen")?, symbol(c"crc32_iscsi")?);
        // SAFETY: the functions of these names have these signatures.
        unsafe {
            Some(Isal {
                init_tables: mem::transmute::<*mut c_void, InitTables>(init),
                encode_data: mem::transmute::<*mut c_void, EncodeData>(encode),
                pq_gen: mem::transmute::<*mut c_void, PqGen>(pq),
                crc32_iscsi: mem::transmute::<*mut c_void, Crc32Iscsi>(crc),
            })
        }
    }

    /// The tables of the code whose factors are `factor` (row, column).
    pub fn tables(&self, data: usize, parity: usize, factor: impl Fn(usize, usize) -> u8) -> Tables {
        let factors: Vec<u8> = (0..parity * data).map(|at| factor(at / data, at % data)).collect();
        let mut bytes = vec![0; 32 * data * parity];
        // SAFETY: there are data * parity factors, and room for 32 bytes for each.
        unsafe { (self.init_tables)(data as c_int, parity as c_int, factors.as_ptr(), bytes.as_mut_ptr()) };
        Tables { data, parity, bytes }
    }

    /// Makes the parity of a stripe.
    ///
    /// # Panics
    /// Unless there is one chunk for each slot, all of one length.
    pub fn encode(&self, tables: &Tables, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        let length = checked_length(tables.data, tables.parity, data, parity);
        let mut places = [std::ptr::null(); 255];
        let mut outs = [std::ptr::null_mut(); 6];
        places.iter_mut().zip(data).for_each(|(place, chunk)| *place = chunk.as_ptr());
        outs.iter_mut().zip(parity).for_each(|(place, chunk)| *place = chunk.as_mut_ptr());
        // SAFETY: the numbers and lengths are checked, and the tables are those of this many chunks.
        unsafe {
            let (data, parity) = (tables.data as c_int, tables.parity as c_int);
            (self.encode_data)(length, data, parity, tables.bytes.as_ptr(), places.as_ptr(), outs.as_ptr());
        }
    }

    /// Makes the P and Q parities of a stripe.
    ///
    /// # Panics
    /// Unless there are two parity chunks, and all chunks have one length and lie at multiples of 32.
    pub fn encode_two(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        let length = checked_length(data.len(), 2, data, parity);
        let mut places = [std::ptr::null::<c_void>(); 257];
        places.iter_mut().zip(data).for_each(|(place, chunk)| *place = chunk.as_ptr().cast());
        places[data.len()..].iter_mut().zip(parity).for_each(|(place, chunk)| *place = chunk.as_mut_ptr().cast());
        let slots = data.len() + 2;
        assert!(places[..slots].iter().all(|place| place.addr() % 32 == 0), "all chunks lie at multiples of 32");
        // SAFETY: the numbers, lengths and places are checked; it writes to the last two chunks only.
        let result = unsafe { (self.pq_gen)(slots as c_int, length, places.as_ptr()) };
        assert_eq!(result, 0, "pq_gen takes these chunks");
    }

    /// The CRC-32C of `bytes`.
    ///
    /// # Panics
    /// When there are 2 GiB or more.
    pub fn crc32c(&self, bytes: &[u8]) -> u32 {
        let length = c_int::try_from(bytes.len()).expect("less than 2 GiB");
        // SAFETY: it reads that many bytes.
        !unsafe { (self.crc32_iscsi)(bytes.as_ptr(), length, !0) }
    }
}

fn checked_length(data_count: usize, parity_count: usize, data: &[&[u8]], parity: &[&mut [u8]]) -> c_int {
    assert!(data.len() == data_count && data.len() <= 255 && parity.len() == parity_count && parity.len() <= 6);
    let length = data[0].len();
    assert!(data.iter().all(|chunk| chunk.len() == length) && parity.iter().all(|chunk| chunk.len() == length));
    c_int::try_from(length).expect("less than 2 GiB")
}
