//! One cluster written in every layout that tools use, and files in every encoding and container.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

/// A file of a dump: its path in the dump and its bytes.
pub(crate) type File = (String, Vec<u8>);

fn text<'v>(item: &'v Value, pointer: &str) -> &'v str {
    item.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn name(item: &Value) -> &str {
    text(item, "/metadata/name")
}

fn namespace(item: &Value) -> &str {
    text(item, "/metadata/namespace")
}

fn group(item: &Value) -> &str {
    text(item, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

/// `pods`, `poddisruptionbudgets`, `priorityclasses`.
fn plural(item: &Value) -> String {
    let kind = text(item, "/kind").to_lowercase();
    if kind.ends_with('s') { kind + "es" } else { kind + "s" }
}

fn without_type(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(map) = item.as_object_mut() {
        map.remove("kind");
        map.remove("apiVersion");
    }
    item
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// As the API server answers: the list says what its items are.
fn typed_list(items: &[Value]) -> Value {
    let (kind, api) = (format!("{}List", text(&items[0], "/kind")), text(&items[0], "/apiVersion"));
    let items: Vec<Value> = items.iter().map(without_type).collect();
    json!({"kind": kind, "apiVersion": api, "metadata": {"resourceVersion": "1"}, "items": items})
}

trait Tap: Sized {
    fn tap(mut self, with: impl FnOnce(&mut Self)) -> Self {
        with(&mut self);
        self
    }
}

impl Tap for Value {}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap();
    text.push(b'\n');
    text
}

/// Items by whatever a key function says, in the order of the keys.
fn by(items: &[Value], key: impl Fn(&Value) -> String) -> BTreeMap<String, Vec<Value>> {
    let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for item in items {
        groups.entry(key(item)).or_default().push(item.clone());
    }
    groups
}

/// A value in the block style of kubectl's YAML.
pub(crate) fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                let pad = if at == 0 { "" } else { &pad };
                write!(out, "{pad}{}:", scalar(&json!(key))).unwrap();
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        write!(out, "\n{}", " ".repeat(indent + 2)).unwrap();
                        block(value, indent + 2, out);
                    }
                    Value::Array(inner) if !inner.is_empty() => {
                        write!(out, "\n{}", " ".repeat(indent)).unwrap();
                        block(value, indent, out);
                    }
                    _ => {
                        out.push(' ');
                        block(value, indent + 2, out);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                let pad = if at == 0 { "" } else { &pad };
                write!(out, "{pad}- ").unwrap();
                block(item, indent + 2, out);
            }
        }
        other => writeln!(out, "{}", scalar(other)).unwrap(),
    }
}

fn scalar(value: &Value) -> String {
    let plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/' | '_'))
            && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_lowercase().as_str())
    };
    match value {
        Value::String(text) if plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn as_yaml(value: &Value) -> Vec<u8> {
    yaml(value).into_bytes()
}

/// Every layout, by name.
pub(crate) fn layouts(items: &[Value]) -> Vec<(&'static str, Vec<File>)> {
    let mut all = vec![
        ("one List", vec![("all.json".into(), pretty(&list(items)))]),
        ("one List on one line", vec![("x".into(), list(items).to_string().into_bytes())]),
        ("one YAML list", vec![("all.yaml".into(), as_yaml(&list(items)))]),
        ("bare array", vec![("items.json".into(), pretty(&json!(items)))]),
        ("lines", vec![("items.ndjson".into(), joined(items, |item| format!("{item}\n")))]),
        ("joined objects", vec![("items.json".into(), joined(items, |item| format!("{item:#}")))]),
        ("YAML documents", vec![("items.yaml".into(), joined(items, |item| format!("---\n{}", yaml(item))))]),
        ("JSON in YAML", vec![("items.yaml".into(), joined(items, |item| format!("---\n{item:#}\n")))]),
    ];
    all.extend(folders(items));
    all.extend(streams(items));
    all
}

fn joined(items: &[Value], text: impl Fn(&Value) -> String) -> Vec<u8> {
    items.iter().map(text).collect::<String>().into_bytes()
}

fn each(items: &[Value], path: impl Fn(&Value) -> String, bytes: impl Fn(&Value) -> Vec<u8>) -> Vec<File> {
    items.iter().map(|item| (path(item), bytes(item))).collect()
}

fn grouped(items: &[Value], path: impl Fn(&Value) -> String, bytes: impl Fn(&[Value]) -> Vec<u8>) -> Vec<File> {
    by(items, path).into_iter().map(|(path, items)| (path, bytes(&items))).collect()
}

fn in_scope(item: &Value, cluster: &str, namespaced: &str) -> String {
    match namespace(item) {
        "" => cluster.to_owned(),
        namespace => format!("{namespaced}/{namespace}"),
    }
}

fn folders(items: &[Value]) -> Vec<(&'static str, Vec<File>)> {
    let must_gather = |item: &Value| {
        let group = if group(item).is_empty() { "core" } else { group(item) };
        let root = "must-gather.local.42/quay-io-sha256-abc";
        match (namespace(item), text(item, "/kind")) {
            ("", "Namespace") => format!("{root}/namespaces/{0}/{0}.yaml", name(item)),
            ("", _) => format!("{root}/cluster-scoped-resources/{group}/{}/{}.yaml", plural(item), name(item)),
            (namespace, _) => format!("{root}/namespaces/{namespace}/{group}/{}.yaml", plural(item)),
        }
    };
    let one_or_list = |items: &[Value]| match items {
        [one] if namespace(one).is_empty() => as_yaml(one),
        more => as_yaml(&typed_list(more)),
    };
    let mut gathered = grouped(items, must_gather, one_or_list);
    gathered.push(("must-gather.local.42/quay-io-sha256-abc/namespaces/empty/core/pods.yaml".into(), Vec::new()));
    gathered.push(("must-gather.local.42/timestamp".into(), b"2024-01-01 00:00:00\n".to_vec()));

    let troubleshoot = |item: &Value| {
        let folder = match text(item, "/kind") {
            "PodDisruptionBudget" => "pod-disruption-budgets".to_owned(),
            "PersistentVolumeClaim" => "pvcs".to_owned(),
            "PersistentVolume" => "pvs".to_owned(),
            _ => plural(item),
        };
        in_scope(item, &format!("bundle/cluster-resources/{folder}"), &format!("bundle/cluster-resources/{folder}"))
            + ".json"
    };
    let mut bundle = grouped(items, troubleshoot, |items| pretty(&typed_list(items)));
    bundle.push(("bundle/cluster-resources/pods-errors.json".into(), b"[\"forbidden\"]\n".to_vec()));
    bundle.push(("bundle/analysis.json".into(), b"[{\"name\": \"x\", \"severity\": \"warn\"}]\n".to_vec()));

    let mut velero = each(items, |item| velero(item, ""), |item| item.to_string().into_bytes());
    velero.extend(each(items, |item| self::velero(item, "v1-preferredversion/"), |item| item.to_string().into_bytes()));
    velero.push(("metadata/version".into(), b"1.1.0\n".to_vec()));

    let rancher = |item: &Value| {
        let api = text(item, "/apiVersion");
        format!("b/yamls/{}/{api}/{}.yaml", in_scope(item, "cluster", "namespaced"), plural(item))
    };
    let mut rancher = grouped(items, rancher, |items| as_yaml(&typed_list(items)));
    let metrics = json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [
        {"metadata": {"name": "web-0", "namespace": "shop"}, "containers": []}]});
    rancher.push(("b/yamls/namespaced/shop/metrics.k8s.io/v1beta1/pods.yaml".into(), as_yaml(&metrics)));

    let info = |item: &Value| format!("info/{}/{}.json", namespace(item), plural(item)).replace("//", "/");
    let mut info = grouped(items, info, |items| pretty(&typed_list(items)));
    info.push((
        "info/shop/web-0/logs.txt".into(),
        b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"no\"}}\n".to_vec(),
    ));

    let crust = |item: &Value| {
        let api = text(item, "/apiVersion").replace('/', "-");
        let kind = text(item, "/kind").to_lowercase();
        format!("{}/{api}/{kind}/{}.yaml", in_scope(item, "cluster", "namespaces"), name(item))
    };
    let kubectl_gather = |item: &Value| {
        let group = group(item);
        let plural = if group.is_empty() { plural(item) } else { format!("{group}/{}", plural(item)) };
        format!("gather/prod/{}/{plural}/{}.yaml", in_scope(item, "cluster", "namespaces"), name(item))
    };
    let sonobuoy = |item: &Value| {
        let kind = text(item, "/kind");
        format!("202401010000_sonobuoy_x/resources/{}/{kind}s.json", in_scope(item, "cluster", "ns"))
    };
    vec![
        ("one file a kind", grouped(items, |item| plural(item) + ".json", |items| pretty(&list(items)))),
        ("typed lists", grouped(items, |item| plural(item) + ".json", |items| pretty(&typed_list(items)))),
        (
            "one file an object",
            each(items, |item| format!("{}/of-{}-{}.json", plural(item), namespace(item), name(item)), pretty),
        ),
        (
            "kindless arrays",
            grouped(items, |item| plural(item) + ".json", |items| pretty(&items.iter().map(without_type).collect())),
        ),
        ("must-gather", gathered),
        ("support bundle", bundle),
        ("crust-gather", each(items, crust, as_yaml)),
        ("kubectl-gather", each(items, kubectl_gather, as_yaml)),
        ("Rancher", rancher),
        ("Velero", velero),
        ("Sonobuoy", grouped(items, sonobuoy, |items| pretty(&json!({"items": items})))),
        ("cluster-info dump", info),
    ]
}

fn velero(item: &Value, preferred: &str) -> String {
    let resource = if group(item).is_empty() { plural(item) } else { format!("{}.{}", plural(item), group(item)) };
    format!("resources/{resource}/{preferred}{}/{}.json", in_scope(item, "cluster", "namespaces"), name(item))
}

fn streams(items: &[Value]) -> Vec<(&'static str, Vec<File>)> {
    let older = |item: &Value| {
        item.clone().tap(|item| {
            item["metadata"]["resourceVersion"] = json!("1");
            item["metadata"]["labels"] = json!({"old": "state"});
        })
    };
    let gone = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gone", "namespace": "shop", "resourceVersion": "2"}});
    let event = |kind: &str, item: &Value| json!({"type": kind, "object": item});
    let mut watch: Vec<Value> = items.iter().map(|item| event("ADDED", &older(item))).collect();
    watch.push(event("ADDED", &gone));
    watch.push(event("BOOKMARK", &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "3"}})));
    watch.extend(items.iter().map(|item| event("MODIFIED", item)));
    watch.push(event("DELETED", &gone));

    let recorded =
        |event: &str, item: &Value| json!({"time": "2024-01-01T00:00:00Z", "event": event, "resource": item});
    let mut recorder: Vec<Value> = items.iter().map(|item| recorded("Add", &older(item))).collect();
    recorder.push(recorded("Add", &gone));
    recorder.extend(items.iter().map(|item| recorded("Update", item)));
    recorder.push(recorded("Delete", &gone));

    let plain: Vec<Value> = items.iter().map(older).chain(items.iter().cloned()).collect();
    let keys = |item: &Value| match text(item, "/kind") {
        "PersistentVolume" => "pvs".to_owned(),
        "PersistentVolumeClaim" => "pvcs".to_owned(),
        "StorageClass" => "storageClasses".to_owned(),
        "PriorityClass" => "priorityClasses".to_owned(),
        _ => plural(item),
    };
    let export: serde_json::Map<String, Value> =
        by(items, keys).into_iter().map(|(key, items)| (key, json!(items))).collect();
    let named: serde_json::Map<String, Value> = items
        .iter()
        .map(|item| (format!("{}/{}/{}", text(item, "/kind"), namespace(item), name(item)), item.clone()))
        .collect();
    let lists: serde_json::Map<String, Value> =
        by(items, plural).into_iter().map(|(key, items)| (key, typed_list(&items))).collect();

    let mut to_stdout = String::new();
    for (at, items) in by(items, plural).into_values().enumerate() {
        writeln!(to_stdout, "{:#}", typed_list(&items)).unwrap();
        let pod = format!("container c{at} of pod shop/web-0");
        write!(to_stdout, "==== START logs for {pod} ====\n{{ open\n[x]\n{gone}\n==== END logs for {pod} ====\n")
            .unwrap();
    }
    vec![
        ("watch events", vec![("watch.json".into(), joined(&watch, |event| format!("{event}\n")))]),
        ("plain watch", vec![("watch.json".into(), joined(&plain, |item| format!("{item:#}\n")))]),
        ("recorder", vec![("record.json".into(), pretty(&json!(recorder)))]),
        ("simulator export", vec![("export.json".into(), pretty(&Value::Object(export)))]),
        ("map of objects", vec![("map.json".into(), pretty(&Value::Object(named)))]),
        ("map of lists", vec![("map.json".into(), pretty(&Value::Object(lists)))]),
        ("cluster-info dump to stdout", vec![("dump.txt".into(), to_stdout.into_bytes())]),
    ]
}

/// Every way to write the characters of a text, and what people and shells put around it.
pub(crate) fn encodings(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let string = std::str::from_utf8(text).unwrap();
    let utf16 = |mark: bool, to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let mark = if mark { "\u{feff}" } else { "" };
        format!("{mark}{string}").encode_utf16().flat_map(to_bytes).collect()
    };
    let around = |before: &str, after: &str| format!("{before}{string}{after}").into_bytes();
    vec![
        ("UTF-8 with a mark", around("\u{feff}", "")),
        ("UTF-16, low byte first", utf16(true, u16::to_le_bytes)),
        ("UTF-16, high byte first", utf16(true, u16::to_be_bytes)),
        ("UTF-16 without a mark", utf16(false, u16::to_le_bytes)),
        ("UTF-16 without a mark, high byte first", utf16(false, u16::to_be_bytes)),
        ("lines that end as on Windows", string.replace('\n', "\r\n").into_bytes()),
        (
            "warnings before",
            around("Warning: v1 ComponentStatus is deprecated in v1.19+\nW0102 03:04:05.000000   12 a.go:1] x\n", ""),
        ),
        ("a comment before", around("# kubectl get all\n", "")),
        ("a prompt after", around("", "admin@master:~$ \n")),
        ("an error after", around("", "error: the server doesn't have a resource type \"pdbs\"\n")),
        ("blank lines around", around("\n\n", "\n\n\n")),
    ]
}

/// gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Zstandard.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// xz.
pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// tar, with long names as GNU and PAX write them.
pub(crate) fn tar(files: &[File]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mtime(1_700_000_000);
        builder.append_data(&mut header, path, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

/// zip.
pub(crate) fn zip(files: &[File]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        writer.start_file(path.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Every container, with the name it usually has.
pub(crate) fn containers(files: &[File]) -> Vec<(&'static str, Vec<u8>)> {
    let tarred = tar(files);
    vec![
        ("d.tar.gz", gzip(&tarred)),
        ("d.tar.xz", xz(&tarred)),
        ("d.tar.zst", zstd(&tarred)),
        ("d.zip", zip(files)),
        ("in.zip", zip(&[("deep/d.tar.gz".to_owned(), gzip(&tarred)), ("readme.txt".to_owned(), b"hello\n".to_vec())])),
        ("d.tar", tarred),
    ]
}
