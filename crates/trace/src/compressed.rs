//! Decompresses sources, recognised by their first bytes: `.gz`, `.bz2`, `.xz`, `.zst`.
//!
//! Several concatenated members (as `cat a.gz b.gz`, pigz and pbzip2 write them) are read as one. Memory is bounded: a
//! source that needs more than 128 MiB to decompress (`zstd --long=31`) is refused.

use crate::reader::Stream;
use std::fmt;
use std::io::{self, BufReader, Cursor, Read};

/// The number of first bytes by which the compression is recognised; bzip2's magic is the longest, with ten.
const MAGIC_BYTES: usize = 10;
/// The number of compressed bytes read at a time.
const BLOCK_BYTES: usize = 128 << 10;
/// The most memory that an `.xz` may need, in KiB; `xz -9` needs 65 MiB. The zstd library has the same limit.
const XZ_KIB_MAX: u32 = 128 << 10;

/// How a source is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `.gz`: RFC 1952.
    Gzip,
    /// `.bz2`.
    Bzip2,
    /// `.xz`.
    Xz,
    /// `.zst`: RFC 8878.
    Zstd,
}

impl Compression {
    /// The compression of data that begin with `head`; `None`: they are not compressed.
    pub fn of(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, 0x08, ..] => Some(Compression::Gzip),
            // A block, or the end of an empty stream.
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Compression::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => Some(Compression::Xz),
            // The second is a skippable frame, with which pzstd begins.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
        })
    }
}

/// The decompressed source and its compression; the source itself if it is not compressed.
///
/// # Errors
/// If the source cannot be read. Reading from the stream fails with [`io::ErrorKind::UnexpectedEof`] and a message if
/// the compressed data are cut off.
pub fn decompressed(mut source: Stream) -> io::Result<(Stream, Option<Compression>)> {
    let head = head(&mut source, MAGIC_BYTES)?;
    let compression = Compression::of(&head);
    let stream: Stream = Box::new(Cursor::new(head).chain(source));
    let Some(compression) = compression else {
        return Ok((stream, None));
    };
    let stream = BufReader::with_capacity(BLOCK_BYTES, stream);
    let decoder: Stream = match compression {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stream)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(stream)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(stream, true, XZ_KIB_MAX)),
        Compression::Zstd => Box::new(zstd::Decoder::with_buffer(stream)?),
    };
    Ok((Box::new(NamedDecoder { decoder, compression }), Some(compression)))
}

/// The first `bytes` bytes of a stream, or all of it if it is shorter.
pub(crate) fn head(source: &mut (impl Read + ?Sized), bytes: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(bytes);
    source.take(bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// A decoder whose errors name the compression.
struct NamedDecoder {
    decoder: Stream,
    compression: Compression,
}

impl Read for NamedDecoder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let (kind, compression) = (error.kind(), self.compression);
            match kind {
                // Errors of the source itself are not about its contents.
                _ if error.raw_os_error().is_some() => error,
                io::ErrorKind::Interrupted => error,
                io::ErrorKind::UnexpectedEof => io::Error::new(kind, format!("the {compression} data is cut off")),
                _ => io::Error::new(kind, format!("bad {compression} data: {error}")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const ALL: [Compression; 4] = [Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd];

    fn compress(compression: Compression, data: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(1);
                let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
                // As the `zstd` program does.
                encoder.include_checksum(true).unwrap();
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    fn read(data: Vec<u8>) -> (io::Result<Vec<u8>>, Option<Compression>) {
        let (mut stream, compression) = decompressed(Box::new(Cursor::new(data))).unwrap();
        let mut text = Vec::new();
        (stream.read_to_end(&mut text).map(|_| text), compression)
    }

    /// A text that compresses, but not to almost nothing.
    fn text() -> Vec<u8> {
        (0..30_000u64).flat_map(|i| format!("{},{}\n", i, i * i % 7919).into_bytes()).collect()
    }

    #[test]
    fn concatenated_members_are_read_as_one() {
        for compression in ALL {
            let (first, second) = (text(), b"the end".to_vec());
            let mut data = compress(compression, &first);
            data.extend(compress(compression, &second));
            let (decoded, recognised) = read(data);
            assert_eq!((decoded.unwrap(), recognised), ([first, second].concat(), Some(compression)));
        }
    }

    #[test]
    fn empty_data_compressed_are_read_as_empty() {
        for compression in ALL {
            let (decoded, recognised) = read(compress(compression, b""));
            assert_eq!((decoded.unwrap(), recognised), (Vec::new(), Some(compression)));
        }
    }

    #[test]
    fn the_error_names_data_that_are_cut_off() {
        for compression in ALL {
            let complete = compress(compression, &text());
            for length in [12, 20, complete.len() / 2, complete.len() - 5, complete.len() - 1] {
                let error = read(complete[..length].to_vec()).0.map(|data| data.len()).expect_err("cut off");
                assert_eq!(error.to_string(), format!("the {compression} data is cut off"), "at {length}");
            }
        }
    }

    #[test]
    fn damaged_data_are_an_error() {
        for compression in ALL {
            let mut data = compress(compression, &text());
            let middle = data.len() / 2;
            for byte in &mut data[middle..middle + 64] {
                *byte ^= 0x5a;
            }
            let error = read(data).0.map(|data| data.len()).expect_err("damaged");
            assert!(error.to_string().contains(&compression.to_string()), "{error}");
        }
    }

    #[test]
    fn data_that_are_not_compressed_are_unchanged() {
        for data in [&b""[..], b"B", b"BZh9 is a host name", b"\x1f\x8b", b"1,2,3\n4,5,6\n"] {
            let (decoded, recognised) = read(data.to_vec());
            assert_eq!((decoded.unwrap(), recognised), (data.to_vec(), None));
        }
    }
}
