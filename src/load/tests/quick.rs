//! What is read quickly is what `serde_json` reads.

use super::*;
use crate::load::json;
use crate::load::pod::RawPod;
use proptest::prelude::*;
use serde::de::IgnoredAny;

/// Reads a text both ways: as a value that holds all of it, as one that is passed over, and as a pod.
fn check(text: &[u8]) {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let value: Option<Value> = serde_json::from_slice(text).ok();
    assert_eq!(json::read::<Value>(text), value, "{}", shown());
    let ignored = serde_json::from_slice::<IgnoredAny>(text).is_ok();
    assert_eq!(json::read::<IgnoredAny>(text).is_some(), ignored, "{}", shown());
    if let Some(quick) = json::read::<RawPod<'_>>(text) {
        let plain: RawPod<'_> = serde_json::from_slice(text).expect("what is read quickly is read plainly");
        assert_eq!(format!("{quick:?}"), format!("{plain:?}"), "{}", shown());
    }
}

#[test]
fn what_is_valid_is_what_serde_json_takes() {
    for text in [
        "",
        " ",
        "1",
        "-1",
        "-0",
        "0",
        "00",
        "01",
        "-",
        "1.",
        "1.5",
        ".5",
        "1e5",
        "1E+5",
        "1e",
        "1e-",
        "1.e1",
        "0.0e-0",
        "+1",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e400",
        "-1e-400",
        "123456789012345678",
        "1234567890123456789",
        "true",
        "tru",
        "truee",
        "false",
        "null",
        "nul",
        "NaN",
        "Infinity",
        "\"\"",
        "\"a\"",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\\\\"",
        "\"\\n\\t\\/\\b\\f\\r\"",
        "\"\\u00e4\"",
        "\"\\ud83d\\ude00\"",
        "\"\\u00E\"",
        "\"\\x\"",
        "\"a\"b",
        "\"a\" \"b\"",
        "a\"b\"",
        "1\"b\"",
        "true1",
        "1true",
        "\\\"",
        "1\\\"",
        "[]",
        "[ ]",
        "[1]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[",
        "]",
        "[]]",
        "[1",
        "[1,",
        "[\"a\":1]",
        "[1:2]",
        "[}",
        "[{]}",
        "{}",
        "{ }",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\"}",
        "{\"a\",1}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{1:2}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"::1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":[{\"b\":[{}]}]}",
        "{\"a\":1]",
        "{\"a\"",
        "{\"a\":",
        "{",
        "{\"a\":1}{}",
        "{} x",
        "{}\0",
        "\u{feff}{}",
        "{\"\\u0061\":1}",
        "{\"\u{7f}\":1}",
        "[\"\u{80}\"]",
        "[\u{80}]",
        "[1\u{a0}]",
        "\"\t\"",
        "\"\n\"",
        "[1,\r\n\t2]",
        "[1,\u{b}2]",
        "[1,\u{c}2]",
        "[\u{1}]",
        "// x",
        "[1,/*x*/2]",
        "'a'",
    ] {
        check(text.as_bytes());
    }
    // What is no character in a string that nobody reads is nobody's trouble.
    let odd = b"{\"a\": \"\xff\", \"kind\": \"Pod\"}";
    assert!(json::read::<IgnoredAny>(odd).is_some() && json::read::<RawPod<'_>>(odd).is_some());
    assert!(json::read::<RawPod<'_>>(b"{\"kind\": \"\xff\"}").is_none());
    // Surrogates by themselves.
    for text in ["\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\""] {
        assert!(json::read::<String>(text.as_bytes()).is_none() && serde_json::from_str::<String>(text).is_err());
        assert!(
            json::read::<IgnoredAny>(text.as_bytes()).is_some() && serde_json::from_str::<IgnoredAny>(text).is_ok()
        );
    }
}

#[test]
fn what_is_seldom_is_left_to_serde_json() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(json::read::<IgnoredAny>(deep.as_bytes()).is_none());
    // A struct may be an array of its fields.
    assert!(json::read::<RawPod<'_>>(b"[\"Pod\",null,null,null]").is_none());
    assert!(json::read::<RawPod<'_>>(br#"{"kind":"Pod","kind":"Pod"}"#).is_none());
}

#[test]
fn a_list_that_is_not_what_it_looks_like_costs_its_own_file_only() {
    let pods = |names: &[&str]| list(names.iter().map(|name| pod(name, &json!({}))).collect());
    let whole = serde_json::to_string_pretty(&pods(&["a", "b", "c"])).unwrap();
    // A list within the list, and text in which an item seems to begin.
    let mut odd = pods(&["d", "e"]);
    odd["items"].as_array_mut().unwrap().push(pods(&["f", "g"]));
    let odd = serde_json::to_string_pretty(&odd).unwrap();
    let versions = |number: u64| format!(r#"{{"serverVersion":{{"gitVersion":"v1.3{number}.0"}}}}"#);
    let text = |at: usize, text: &str| (format!("{at}.json"), text.as_bytes().to_vec());
    let texts = [&versions(3), &odd, &whole, &versions(4), &format!("{odd}\n{}", versions(5))];
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 1, 4, 0, 3]] {
        let files = order.iter().enumerate().map(|(at, which)| text(at, texts[*which])).collect();
        let files = FileTable::from_bytes(files);
        let plainly = load_plainly(&files);
        assert_eq!(plainly.cluster.pods.len(), 7);
        assert!(load_quickly(&files) == plainly, "{order:?}");
        let cut = Cut { batch: Some(1), min_bulk: 0, ..Cut::default() };
        let Read { splits, .. } =
            read(Streamed::default(), &files, &Wanted::default(), cut, &Meter::default()).unwrap();
        let marked: Vec<usize> = (0..5).filter(|at| splits[*at].bulk.is_some()).map(|at| order[at]).collect();
        assert_eq!(marked, [2], "the good list is not read again");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("spec".to_owned()),
        Just("metadata".to_owned()),
        Just("env".to_owned()),
        "[a-z]{0,9}",
        "[ -~]{0,80}",
        "[\u{0}-\u{1f}\"\\\\/{}\\[\\],:]{0,9}",
        "\\PC{0,9}",
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from)
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Spaces that stand between tokens; `kubectl`'s, a YAML converter's, a person's.
const SPACES: [&str; 8] = ["", "", " ", "\n", "\n        ", "\t", "\r\n    ", "   \n\n\t"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_is_read_the_same(value in value(), spaces in prop::collection::vec(0usize..8, 1..30)) {
        check(value.to_string().as_bytes());
        check(serde_json::to_string_pretty(&value).unwrap().as_bytes());
        check(layouts::respaced_by(&value, &spaces, &SPACES).as_bytes());
    }

    #[test]
    fn any_damage_is_noticed_the_same(
        value in value(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40), 1..4),
    ) {
        const SPLINTERS: &[u8] = b"{}[]\",:\\ \n\r\t\0\x01\x7f\x80\xff0123456789-+.eEtfnu/x";
        let mut text = serde_json::to_vec_pretty(&value).unwrap();
        for (at, what) in damage {
            let at = at.index(text.len().max(1));
            match SPLINTERS.get(what) {
                Some(byte) if what % 2 == 0 && at < text.len() => text[at] = *byte,
                Some(byte) => text.insert(at.min(text.len()), *byte),
                None if at < text.len() => drop(text.remove(at)),
                None => {}
            }
        }
        check(&text);
    }

    #[test]
    fn any_bytes_are_read_the_same(text in prop::collection::vec(prop::sample::select(b"{}[]\",:\\ \n\t01-e.tfnul\xc3\xa4".to_vec()), 0..90)) {
        check(&text);
    }
}
