//! The types of fields in a Parquet file's footer and in its page headers, for the check in `thrift`.
//!
//! Specification: Apache Parquet, parquet.thrift of version 2.12. Fields that are not listed here may have any type.

use super::thrift::{Fields, ThriftKind};
use ThriftKind::{Byte, Bytes, Double, List, Number, Struct, Truth};

/// `FileMetaData`: the footer.
pub(super) const FOOTER: Fields = &[
    (1, Number),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, Number),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, Bytes),
    (7, List(&Struct(EMPTY_STRUCTS))),
    (8, Struct(&[])),
    (9, Bytes),
];

/// `PageHeader`.
pub(super) const PAGE: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Struct(&[(1, Number), (2, Number), (3, Number), (4, Number), (5, Struct(STATISTICS))])),
    (6, Struct(&[])),
    (7, Struct(&[(1, Number), (2, Number), (3, Truth)])),
    (8, Struct(PAGE_V2)),
];

const PAGE_V2: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Truth),
    (8, Struct(STATISTICS)),
];

const SCHEMA_ELEMENT: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Bytes),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, Struct(LOGICAL_TYPE)),
];

/// `LogicalType`: each field is a structure, most of them empty.
const LOGICAL_TYPE: Fields = &[
    (1, Struct(&[])),
    (2, Struct(&[])),
    (3, Struct(&[])),
    (4, Struct(&[])),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, Struct(&[])),
    (7, Struct(TIME)),
    (8, Struct(TIME)),
    (9, Struct(&[])),
    (10, Struct(&[(1, Byte), (2, Truth)])),
    (11, Struct(&[])),
    (12, Struct(&[])),
    (13, Struct(&[])),
    (14, Struct(&[])),
    (15, Struct(&[])),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Bytes)])),
    (18, Struct(&[(1, Bytes), (2, Number)])),
];

const TIME: Fields = &[(1, Truth), (2, Struct(EMPTY_STRUCTS))];

/// `TimeUnit`, `ColumnOrder`: only which field is present matters.
const EMPTY_STRUCTS: Fields = &[(1, Struct(&[])), (2, Struct(&[])), (3, Struct(&[]))];

const KEY_VALUE: Fields = &[(1, Bytes), (2, Bytes)];

const ROW_GROUP: Fields = &[
    (1, List(&Struct(COLUMN_CHUNK))),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Truth), (3, Truth)]))),
    (5, Number),
    (6, Number),
    (7, Number),
];

const COLUMN_CHUNK: Fields = &[
    (1, Bytes),
    (2, Number),
    (3, Struct(COLUMN)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Struct(&[])),
    (9, Bytes),
];

/// `ColumnMetaData`.
const COLUMN: Fields = &[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Bytes)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, List(&Struct(KEY_VALUE))),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))),
    (14, Number),
    (15, Number),
    (16, Struct(&[(1, Number), (2, List(&Number)), (3, List(&Number))])),
    (17, Struct(&[(1, Struct(BOX)), (2, List(&Number))])),
];

const STATISTICS: Fields =
    &[(1, Bytes), (2, Bytes), (3, Number), (4, Number), (5, Bytes), (6, Bytes), (7, Truth), (8, Truth), (9, Number)];

/// `BoundingBox`.
const BOX: Fields =
    &[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)];
