//! That `include/layby.h` declares what `src/` defines: the same names, each with the same signature. Sizes, alignments and
//! initialisers are asserted by both at compile time. Blind to: what the functions do.

use layby::{eventcount::EventCount, sema::Semaphore};
use std::{collections::BTreeMap, fs, path::Path};

/// Result and parameters, as C spells them, by name.
type Signatures = BTreeMap<String, (String, Vec<String>)>;

/// How the types of one language are spelled in the other. In C a pointer to what a function changes is not `const`; in Rust the
/// crate's objects are shared, and change behind `*const`.
const TYPES: &[(&str, &[&str])] = &[
    ("c_int", &["int"]),
    ("u64", &["uint64_t"]),
    ("usize", &["size_t"]),
    ("*const c_char", &["const char *"]),
    ("*const c_void", &["const volatile void *"]),
    ("*mut c_void", &["void *"]),
    ("*mut u64", &["uint64_t *"]),
    ("*const timespec", &["const struct timespec *"]),
    ("*mut timespec", &["struct timespec *"]),
    ("Option<layby_condition_t>", &["layby_condition_t *"]),
    ("*const layby_cancel_t", &["layby_cancel_t *", "const layby_cancel_t *"]),
    ("*mut layby_semaphore_t", &["layby_semaphore_t *"]),
    ("*const layby_semaphore_t", &["layby_semaphore_t *", "const layby_semaphore_t *"]),
    ("*const layby_eventcount_t", &["layby_eventcount_t *", "const layby_eventcount_t *"]),
    ("*const layby_sequencer_t", &["layby_sequencer_t *", "const layby_sequencer_t *"]),
    ("()", &["void"]),
];

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the library defines: every `extern "C" fn` that has a name for the linker.
fn defined() -> Signatures {
    let mut found = Signatures::new();
    for source in ["eventcount", "limit", "location", "report", "semaphore"] {
        let text = file(&format!("src/{source}.rs"));
        for function in text.split("#[unsafe(no_mangle)]").skip(1) {
            let head = words(function.split_once('{').unwrap().0);
            let (_, head) = head.split_once("extern \"C\" fn ").unwrap();
            let (name, rest) = head.split_once('(').unwrap();
            let (parameters, result) = rest.rsplit_once(')').unwrap();
            let type_of = |parameter: &str| parameter.split_once(": ").unwrap().1.trim().to_owned();
            let parameters = parameters.split(", ").filter(|parameter| !parameter.trim().is_empty());
            let parameters = parameters.map(|parameter| type_of(parameter.trim_end_matches([',', ' '])));
            let result = result.trim().strip_prefix("-> ").unwrap_or("()").to_owned();
            assert!(found.insert(name.to_owned(), (result, parameters.collect())).is_none(), "{name} twice");
        }
    }
    found
}

/// The header without its comments, without what is only for the preprocessor, and without attributes.
fn declarations() -> String {
    let mut text = file("include/layby.h");
    while let Some(start) = text.find("/*") {
        let end = text[start..].find("*/").unwrap() + start + 2;
        text.replace_range(start..end, " ");
    }
    let text = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    text.replace("LAYBY_SHORT_ ", "").replace("LAYBY_CHECK_ ", "").replace(" LAYBY_NOEXCEPT_", "")
}

/// What the header declares: every function that begins with `layby_`.
fn declared() -> Signatures {
    let mut found = Signatures::new();
    let text = declarations();
    for statement in text.split(';').map(words).filter(|statement| statement.ends_with(')')) {
        let statement = statement.trim_start_matches("extern \"C\" { ");
        let Some((head, parameters)) = statement.trim_end_matches(')').split_once('(') else { continue };
        if !head.contains("layby_") || head.starts_with("typedef") {
            continue;
        }
        let (result, name) = split_declaration(head);
        let parameters = parameters.split(", ").filter(|parameter| *parameter != "void");
        let parameters = parameters.map(|parameter| split_declaration(parameter).0).collect();
        assert!(found.insert(name.clone(), (result, parameters)).is_none(), "{name} twice");
    }
    found
}

/// `const char *name` as its type and its name.
fn split_declaration(declaration: &str) -> (String, String) {
    let name = declaration.rfind([' ', '*']).unwrap() + 1;
    (declaration[..name].trim().to_owned(), declaration[name..].to_owned())
}

fn is_spelled(rust: &str, c: &str) -> bool {
    let spellings = TYPES.iter().find(|(type_, _)| *type_ == rust);
    spellings.unwrap_or_else(|| panic!("no type of the header stands for {rust}")).1.contains(&c)
}

#[test]
fn the_header_declares_what_the_library_defines() {
    let (defined, declared) = (defined(), declared());
    assert_eq!(defined.keys().collect::<Vec<_>>(), declared.keys().collect::<Vec<_>>());
    for (name, (result, parameters)) in &defined {
        let (c_result, c_parameters) = &declared[name];
        assert!(is_spelled(result, c_result), "{name} returns {result} in src, {c_result} in the header");
        assert_eq!(parameters.len(), c_parameters.len(), "{name} takes {parameters:?} or {c_parameters:?}");
        for (rust, c) in parameters.iter().zip(c_parameters) {
            assert!(is_spelled(rust, c), "{name} takes {rust} in src, {c} in the header");
        }
    }
}

#[test]
fn it_is_small() {
    assert!(declared().len() <= 30, "{} functions", declared().len());
}

#[test]
fn the_header_has_the_librarys_numbers() {
    let header = file("include/layby.h");
    for (name, bits, value) in
        [("LAYBY_SEMAPHORE_MAX", 61, Semaphore::MAX_PERMITS), ("LAYBY_EVENTCOUNT_MAX", 62, EventCount::MAX)]
    {
        assert!(header.contains(&format!("#define {name} ((UINT64_C(1) << {bits}) - 1)\n")));
        assert_eq!(value, (1 << bits) - 1);
    }
    assert!(header.contains(&format!("#define LAYBY_VERSION \"{}\"\n", env!("CARGO_PKG_VERSION"))));
}

/// Under ThreadSanitizer a hand-over without its word would be a false report, or hide a true one.
#[test]
fn thread_sanitizer_is_told_by_functions_of_the_same_signature() {
    let tsan = words(&file("include/layby_tsan.h"));
    let header = words(&declarations());
    let told = tsan.split("#define layby_").skip(1).map(|rest| rest.split(' ').next().unwrap().to_owned());
    let told: Vec<_> = told.collect();
    for name in &told {
        let (head, rest) = header.split_once(&format!("layby_{name}(")).unwrap_or_else(|| panic!("no layby_{name}"));
        let result = head.rsplit("; ").next().unwrap().rsplit("{ ").next().unwrap();
        let parameters = rest.split_once(')').unwrap().0;
        let wanted = format!("static inline {result}layby_tsan_{name}({parameters}) {{");
        assert!(tsan.contains(&wanted), "layby_tsan.h lacks: {wanted}");
        assert!(tsan.contains(&format!("#define layby_{name} layby_tsan_{name}")));
    }
    // What hands nothing over, or only what the program's own code reads.
    let untold = [
        "deadline_after",
        "semaphore_init",
        "semaphore_value",
        "semaphore_waiters",
        "wait_until",
        "wake_all",
        "wake_one",
        "dump_waiters",
        "dump_waiters_on_signal",
        "version",
    ];
    let mut all: Vec<_> = told.iter().map(String::as_str).chain(untold).map(|name| format!("layby_{name}")).collect();
    all.sort();
    assert_eq!(all, declared().into_keys().collect::<Vec<_>>());
}
