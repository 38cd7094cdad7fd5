//! The columns of comma-separated formats. What a column holds is read by `fields.rs`.

/// Exactly `N` comma-separated columns; `None`: there are more or fewer.
pub(crate) fn columns<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut rest = line.split(|&byte| byte == b',');
    let mut columns = [&line[..0]; N];
    for column in &mut columns {
        *column = rest.next()?;
    }
    rest.next().is_none().then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted() {
        assert_eq!(columns::<3>(b"a,,c"), Some([&b"a"[..], b"", b"c"]));
        assert_eq!(columns::<3>(b"a,b"), None);
        assert_eq!(columns::<3>(b"a,b,c,"), None);
        assert_eq!(columns::<1>(b""), Some([&b""[..]]));
    }
}
