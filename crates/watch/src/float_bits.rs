//! Floats in serde's form: the hexadecimal digits of their bytes, so that every bit is restored, even of values that are no numbers.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use std::collections::VecDeque;

/// Eight digits each: four bytes, the lowest first.
pub fn serialize<S: Serializer>(floats: &VecDeque<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    let digits: String = floats.iter().map(|float| format!("{:08X}", float.to_bits().swap_bytes())).collect();
    serializer.serialize_str(&digits)
}

/// Reads [`serialize`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VecDeque<f32>, D::Error> {
    let digits = String::deserialize(deserializer)?;
    let (groups, rest) = digits.as_bytes().as_chunks::<8>();
    if !rest.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(D::Error::custom(format!("\"{digits}\" is not the digits of floats")));
    }
    let value = |digit: &u8| (*digit as char).to_digit(16).unwrap_or(0);
    let bits = |group: &[u8; 8]| group.iter().fold(0, |bits, digit| (bits << 4) | value(digit));
    Ok(groups.iter().map(|group| f32::from_bits(bits(group).swap_bytes())).collect())
}
