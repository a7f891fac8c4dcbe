//! Strangers end when the benchmark does, however that ends. Blind to whether they use the CPUs: the tables show that.

use std::process::{Command, Stdio};

#[test]
fn a_stranger_ends_with_its_standard_input() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_semabench"));
    let mut stranger = command.args(["--be-a-stranger", "dozing"]).stdin(Stdio::piped()).spawn().unwrap();
    assert!(stranger.try_wait().unwrap().is_none(), "it stays");
    drop(stranger.stdin.take());
    assert!(stranger.wait().unwrap().success());
}

/// A panic unwinds, and so does an interrupted measurement: both drop the strangers. What is left is an end without either.
#[test]
fn a_benchmark_beside_strangers_ends_and_takes_them_along() {
    let output = std::env::temp_dir().join(format!("layby-beside-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_semabench"));
    command.args(["-c", "layby,tokio", "-t", "2", "-s", "0.01", "-r", "1", "--beside", "0,1", "--permits", "2"]);
    command.args(["--hold", "asleep:100us", "--output"]).arg(&output);
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let csv = std::fs::read_to_string(output.join("semabench.csv")).unwrap();
    std::fs::remove_dir_all(&output).unwrap();
    assert!(ended.success());
    assert_eq!(csv.lines().count(), 5, "two contenders, with and without a stranger:\n{csv}");
}
