//! Texts of several documents, one behind the other, are read as they are unfolded, and give what they give as a whole.

use super::streamed::{
    Chance, POD_LIST, check, gzip, in_blocks, is_streamed, kubectl, objects, one, packed, plain, pods, same,
};
use super::*;
use crate::source::archive::Limits;

fn lines(objects: &[Value]) -> String {
    objects.iter().map(|it| it.to_string() + "\n").collect()
}

/// A cluster with something of every kind, and nothing twice.
fn singles() -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    let mut objects = objects();
    objects
        .retain(|it| seen.insert(format!("{} {} {}", it["kind"], it["metadata"]["namespace"], it["metadata"]["name"])));
    objects
}

fn nodes(count: usize) -> Vec<Value> {
    let node = |at: usize| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at:02}")}});
    (0..count).map(node).collect()
}

#[test]
fn objects_and_lists_may_follow_each_other() {
    let indented: String = singles().iter().map(kubectl).collect();
    let list_of_all = kubectl(&list(objects()));
    let (long, node_list) = (pods(POD_LIST, ""), kubectl(&list(nodes(40))));
    for (what, text) in [
        ("objects", lines(&singles())),
        ("indented objects", indented.clone()),
        ("objects in a row", lines(&nodes(40)).replace('\n', "")),
        ("objects on lines of Windows", lines(&nodes(40)).replace('\n', "\r\n")),
        ("two lists", format!("{list_of_all}{node_list}")),
        ("two compact lists", format!("{long}\n{}\n", pods(POD_LIST, r#","metadata":{"continue":"abc"}"#))),
        ("lists that continue", format!("{long}\n{}\n", pods(POD_LIST, "").replace("\"p", "\"q")).repeat(3)),
        ("of both kinds", format!("{list_of_all}{long}\n{node_list}{long}")),
        ("an object behind a list", format!("{long}\n{}", pod("b", &json!({})))),
        ("objects behind a list", format!("{list_of_all}{}", lines(&nodes(40)))),
        ("objects before a list", format!("{}{list_of_all}", lines(&nodes(40)))),
        ("objects around a list", format!("{indented}{node_list}{}", lines(&[pod("z", &json!({}))]))),
        ("short lists", lines(&(0..30).map(|at| list(nodes(at % 4))).collect::<Vec<_>>())),
        ("arrays", lines(&(0..30).map(|_| Value::Array(nodes(5))).collect::<Vec<_>>())),
        ("lists in lists", format!("{long}\n{}", lines(&[list(vec![list(nodes(3))])]))),
        ("and then nothing", format!("{}\n\n$ ", lines(&singles()))),
        ("zeros behind", format!("{}\0\0\0", lines(&singles()))),
        ("a mark before", format!("\u{feff}{list_of_all}{node_list}")),
    ] {
        assert!(is_streamed(&text), "{what}");
    }
}

#[test]
fn what_needs_its_whole_text_is_unfolded() {
    let many = lines(&nodes(40));
    let again = format!("{many}{many}");
    let events: String = nodes(40).iter().map(|it| json!({"type": "ADDED", "object": it}).to_string() + "\n").collect();
    for (what, text) in [
        ("an object that comes again", again),
        ("a watch", events.clone()),
        ("a watch at the end", format!("{many}{}", events.lines().next().unwrap())),
        ("words in between", format!("{many}Warning: old\n{}", pod("b", &json!({})))),
        ("documents of YAML", nodes(40).iter().map(|it| format!("{it}\n---\n")).collect()),
        ("a comma in between", format!("{many},\n{}", pod("b", &json!({})))),
        ("broken in between", format!("{many}{{]}}\n{}", pod("b", &json!({})))),
        ("broken within a map", format!("{many}{{\"x\":{{\"kind\":\"Pod\" \"y\"}}}}\n{}", pod("b", &json!({})))),
        ("no object at all", format!("{}[1,2", lines(&vec![list(Vec::new()); 60]))),
    ] {
        let whole = many.len() / 2;
        assert_eq!(same(&plain(&one(text.clone())), &packed(&one(text), gzip, whole), in_blocks(700)), 0, "{what}");
    }
}

#[test]
fn problems_and_counts_are_those_of_the_whole_text() {
    let damaged = |at: usize| {
        pod(&format!("p{at}"), &json!({"priority": if at.is_multiple_of(3) { json!("high") } else { json!(at) }}))
    };
    let strange = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "x"}});
    let foreign = r#"{"api_version":"v1","items":[],"kind":"PodList"}"#;
    let objects: Vec<Value> = (0..60).map(damaged).collect();
    let text =
        format!("{}{foreign}\n{strange}\n{}{}", lines(&objects), kubectl(&list(objects.clone())), pods(POD_LIST, ""));
    assert!(is_streamed(&text));
    for cut_off in [1, 3, 40, 700, 1500] {
        assert!(is_streamed(&text[..text.len() - cut_off]), "{cut_off}");
    }
    let loaded = load_cut(&packed(&one(text), gzip, 2000), in_blocks(700));
    let told: std::collections::BTreeSet<&str> = loaded.problems.iter().map(|it| it.code.text()).collect();
    assert!(told.len() >= 2, "{told:?}");
    assert!(loaded.problems.iter().any(|it| it.line.is_some_and(|line| line > 100)));
}

#[test]
fn objects_are_counted_as_in_a_file_as_it_is() {
    let text =
        format!("{}{}\n{}", lines(&nodes(30)), pods(POD_LIST, ""), lines(&[list(nodes(3)), Value::Array(nodes(2))]));
    let cut_off = &text[..text.len() - 20];
    for objects in 65..90 {
        let cut = Cut { objects, ..in_blocks(500) };
        check(&one(text.clone()), 1000, cut);
        check(&one(cut_off.to_owned()), 1000, cut);
    }
}

#[test]
fn blocks_of_another_size_give_the_same_from_one_table() {
    let text = format!("{}{}", lines(&singles()), kubectl(&list(nodes(40))));
    let (bare, table) = (plain(&one(text.clone())), packed(&one(text), gzip, 1000));
    for batch in [300, 2000, 300] {
        same(&bare, &table, in_blocks(batch));
    }
}

/// One of many things that a dump may hold, or not.
fn part(chance: &mut Chance, kinds: usize) -> String {
    let mut name = || format!("x{}", chance.below(400));
    let (first, second) = (name(), name());
    let few = |count: usize| -> Vec<Value> {
        (0..count).map(|at| pod(&format!("{first}-{at}"), &json!({"nodeName": "n", "priority": at}))).collect()
    };
    let kindless = |head: &str, tail: &str, count: usize| {
        let item = |at: usize| json!({"metadata": {"name": format!("{second}-{at}"), "namespace": "a"}}).to_string();
        format!("{{{head}\"items\":[{}]{tail}}}", (0..count).map(item).collect::<Vec<_>>().join(","))
    };
    match chance.below(kinds) {
        0..=7 => pod(&first, &json!({"nodeName": second})).to_string(),
        8..=9 => kubectl(&pod(&first, &json!({"containers": [{"name": "c", "ports": [{"hostPort": 1}]}]}))),
        10..=12 => kubectl(&list(few(1 + chance.below(9)))),
        13..=15 => kindless(POD_LIST, "", 2 + chance.below(20)),
        16 => kindless("", r#","kind":"NodeList","apiVersion":"v1""#, 3),
        17 => kindless(POD_LIST, r#","metadata":{"continue":"abc","remainingItemCount":7}"#, 5),
        18 => Value::Array(few(chance.below(4))).to_string(),
        19 => kubectl(&Value::Array(few(5))),
        20 => list(Vec::new()).to_string(),
        21 => list(vec![list(few(3)), json!({}), Value::Null]).to_string(),
        22 => json!({"type": "MODIFIED", "object": pod(&first, &json!({}))}).to_string(),
        23 => json!({"pods": few(3), "nodes": nodes(2)}).to_string(),
        24 => format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{first}","name":"{second}"}}}}"#),
        25 => r#"{"Items":[],"SelfLink":"","ResourceVersion":""}"#.to_owned(),
        26 => json!({"kind": "Pod", "metadata": {"name": 7}}).to_string(),
        27 => "Warning: old".to_owned(),
        28 => [r#"{"kind":"Pod" "x"}"#, r#"{"x":{"kind":"Pod" "y"}}"#, r#"{"x":{"kind":"Pod"},"y":[{"kind" 7}]}"#]
            [chance.below(3)]
        .to_owned(),
        29 => r#"{"a":tru}"#.to_owned(),
        30 => "{]".to_owned(),
        31 => kubectl(&list(few(6))).replacen("},\n", "}\n", 1),
        _ => kubectl(&nodes(1 + chance.below(40)).pop().unwrap()),
    }
}

/// How many texts are put together by chance.
const ROUNDS: usize = 1000;

#[test]
fn any_sequence_gives_what_its_whole_text_gives() {
    let mut chance = Chance(11);
    let mut streamed = 0;
    for round in 0..ROUNDS {
        let mut text = String::new();
        for _ in 0..=chance.below(12) {
            text += &part(&mut chance, if round % 2 == 0 { 22 } else { 34 });
            text += ["\n", "\n", "\n", "\n", "", " ", "\r\n", "\n\n", "\0", "\n---\n", "\u{c}\n"]
                [chance.below(if round % 2 == 0 { 3 } else { 11 })];
        }
        if round % 3 == 0 {
            text.truncate(chance.below(text.len()));
        }
        let cut = in_blocks(1 + chance.below(1500));
        let (bytes, whole) =
            (vec![("cluster.json".to_owned(), gzip(text.as_bytes()))], 1 + chance.below(text.len() + 1));
        let (packed, _) = FileTable::from_memory_in_blocks(bytes, Limits::default(), whole);
        if packed.files.is_empty() || packed.files[0].packed().is_none() {
            continue;
        }
        let bare = plain(&one(text.clone()));
        streamed += same(&bare, &packed, cut);
        let wanted = Wanted { at: super::super::primitive::parse_time("2026-01-01T02:30:00Z"), ..Wanted::default() };
        let at = |table: &FileTable| load_part(table, &wanted, cut, &Meter::default());
        assert!(at(&packed) == at(&bare), "{text}");
    }
    assert!(streamed > ROUNDS / 4, "{streamed}");
}
