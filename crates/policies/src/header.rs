//! The header for C, made of the structures themselves.

use crate::view::{ABI, Field, Quantity, Read, View, Waiting};
use expect_test::expect_file;
use std::fmt::Write;

fn structure(text: &mut String, name: &str, about: &str, fields: &[Field]) {
    writeln!(text, "\n/* {about} */\ntypedef struct tinytail_{name} {{").unwrap();
    for field in fields {
        writeln!(text, "    /* {} */", field.doc.trim()).unwrap();
        if field.ctype.ends_with("(*") {
            writeln!(text, "    uint64_t (*{})(const void *view, uint32_t quantity, uint32_t of);", field.name).unwrap();
        } else {
            let space = if field.ctype.ends_with('*') { "" } else { " " };
            writeln!(text, "    {}{space}{};", field.ctype, field.name).unwrap();
        }
    }
    writeln!(text, "}} tinytail_{name};").unwrap();
}

#[test]
fn the_header_is_that_of_the_structures() {
    let mut text = String::from(
        "/* What tinytail asks policies in libraries: docs/guides/python-policies.md. Made by a test of crates/policies. */\n\n\
         #ifndef TINYTAIL_POLICY_H\n#define TINYTAIL_POLICY_H\n\n#include <stddef.h>\n#include <stdint.h>\n",
    );
    writeln!(text, "\n#define TINYTAIL_ABI {ABI}").unwrap();
    structure(&mut text, "waiting", "An operation that could start.", Waiting::FIELDS);
    structure(&mut text, "read", "A read of a page behind a GC.", Read::FIELDS);
    structure(&mut text, "view", "What a policy is asked, and the drive that it is asked about.", View::FIELDS);
    writeln!(text, "\n/* What `ask` knows. */\nenum {{").unwrap();
    for (number, quantity) in Quantity::ALL.iter().enumerate() {
        writeln!(text, "    /* {} */\n    TINYTAIL_{} = {number},", quantity.doc().trim(), quantity.name().to_uppercase()).unwrap();
    }
    writeln!(text, "}};").unwrap();
    for (name, fields) in [("waiting", Waiting::FIELDS), ("read", Read::FIELDS), ("view", View::FIELDS)] {
        writeln!(text).unwrap();
        for field in fields {
            writeln!(text, "_Static_assert(offsetof(tinytail_{name}, {}) == {}, \"another layout\");", field.name, field.offset).unwrap();
        }
    }
    text.push_str("\n#endif\n");
    expect_file!["../include/tinytail_policy.h"].assert_eq(&text);
}
