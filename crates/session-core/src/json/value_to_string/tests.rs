use super::*;

fn to_text(json: &str) -> String {
    let mut out = Vec::new();
    push_to_string(json, &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

/// Regression: texts of blocks that were not texts were listed as json.
#[test]
fn texts_of_blocks_that_are_not_texts_are_listed_as_javascript_shows_them() {
    for (json, want) in [
        ("null", ""),
        ("true", "true"),
        ("false", "false"),
        ("5", "5"),
        ("1.50", "1.5"),
        ("-0", "0"),
        ("[]", ""),
        ("{}", "[object Object]"),
        (r#"["a",[1,2]]"#, "a,1,2"),
        (r#"[ null , ["\u0041", {"x": "}\"{", "y": [{}]}] , false ]"#, ",A,[object Object],false"),
        ("[[],[[]],[null,null]]", ",,,"),
    ] {
        assert_eq!(to_text(json), want, "{json}");
    }
}

#[test]
fn numbers_look_as_in_javascript() {
    for (json, want) in [
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("123456789012345680000", "123456789012345680000"),
        ("1.25e-7", "1.25e-7"),
        ("0.000001", "0.000001"),
        ("0.0000123", "0.0000123"),
        ("-12.5E1", "-125"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("5e-324", "5e-324"),
        ("1e999", "Infinity"),
        ("-1e999", "-Infinity"),
        ("0.1", "0.1"),
    ] {
        assert_eq!(to_text(json), want, "{json}");
    }
}

#[test]
fn a_deep_value_takes_one_pass() {
    let deep = format!("{}1{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_eq!(to_text(&deep), "1");
    let deep = format!("[{}1{},2]", "{\"a\":".repeat(1 << 20), "}".repeat(1 << 20));
    assert_eq!(to_text(&deep), "[object Object],2");
}
