//! A harness for programs of tests that is rustc's own, and signs beside it how each test ended (FLW-04). The key is
//! compiled in: `inside_cargo.sh` puts it in place of K0 and K1, under a name that no source can know.
#![feature(test)]
#![allow(deprecated)]
extern crate test;

use std::fs::File;
use std::hash::{Hasher, SipHasher};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Mutex;
use test::{DynTestFn, ShouldPanic, StaticTestFn, TestDescAndFn};

static COUNT: Mutex<u64> = Mutex::new(0);

/// One line, at once, past what catches the output of tests.
fn tell(name: &str, ending: &str) {
    let mut count = COUNT.lock().unwrap_or_else(|error| error.into_inner());
    let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{} {} {} {}", std::process::id(), *count, ending, hex);
    *count += 1;
    let mut hasher = SipHasher::new_with_keys(K0, K1);
    hasher.write(line.as_bytes());
    let mut out = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    let _ = out.write_all(format!("remit {:016x} {}\n", hasher.finish(), line).as_bytes());
}

pub fn runner(tests: &[&TestDescAndFn]) {
    let words: Vec<String> = std::env::args().collect();
    let all = if words.len() > 1 { String::new() } else { tests.len().to_string() };
    tell(&all, "began");
    for each in tests.iter().filter(|each| each.desc.ignore) {
        tell(&each.desc.name.to_string(), "skipped");
    }
    let own = tests.iter().map(|each| signed(each)).collect();
    test::test_main(&words, own, None);
    tell("", "ended");
}

fn signed(each: &TestDescAndFn) -> TestDescAndFn {
    let desc = each.desc.clone();
    let StaticTestFn(function) = each.testfn else { panic!("a benchmark is no test") };
    let (name, expected) = (desc.name.to_string(), desc.should_panic);
    let testfn = DynTestFn(Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(function));
        let said = match &result {
            Ok(_) => String::new(),
            Err(cause) => text_of(cause.as_ref()),
        };
        let passed = match (&result, expected) {
            (Ok(told), ShouldPanic::No) => told.is_ok(),
            (Err(_), ShouldPanic::Yes) => true,
            (Err(_), ShouldPanic::YesWithMessage(part)) => said.contains(part),
            _ => false,
        };
        let asserted = said.contains("assertion") || (result.is_ok() && !matches!(expected, ShouldPanic::No));
        tell(&name, if passed { "passed" } else if asserted { "asserted" } else { "failed" });
        result.unwrap_or_else(|cause| resume_unwind(cause))
    }));
    TestDescAndFn { desc, testfn }
}

fn text_of(cause: &(dyn std::any::Any + Send)) -> String {
    let owned = cause.downcast_ref::<String>().cloned();
    owned.or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
}
