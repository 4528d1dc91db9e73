//! Syntax of label keys and values. Upstream: `apimachinery/pkg/util/validation`.

/// A label key or resource name: `name` or `prefix/name`, the prefix a DNS subdomain.
pub(super) fn is_qualified(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_name(name)
}

/// A label value: empty, or a name.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`, at most 63 bytes.
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 63 && text.bytes().all(inner) && begins_and_ends_alphanumeric(text)
}

/// Labels of lower-case letters, digits and hyphens between dots; at most 253 bytes.
fn is_dns_subdomain(text: &str) -> bool {
    let byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 253 && text.split('.').all(|part| part.bytes().all(byte) && begins_and_ends_alphanumeric(part))
}

fn begins_and_ends_alphanumeric(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_checked_as_upstream_does() {
        assert!(["app", "app.kubernetes.io/name", "a/B_c.d-e"].into_iter().all(is_qualified));
        assert!(!["", "/a", "a/", "a/b/c", "-a", "A/b", "a b", &"x".repeat(64)].into_iter().any(is_qualified));
        assert!(["", "v1", "A-b_c.9"].into_iter().all(is_label_value));
        assert!(!["-5", "a/b", "é", &"x".repeat(64)].into_iter().any(is_label_value));
    }
}
