//! What JavaScript makes of a value where a text is wanted: what `String(value)` or an array's `join` shows of it.

use super::simd::{skip_string, Skipped};
use super::string::string_bytes;

/// Adds what `join` shows of a JSON value to a text. It takes one pass, however deep the value is.
pub fn push_to_string(json: &str, out: &mut Vec<u8>) {
    let bytes = json.as_bytes();
    let mut at = 0;
    // Arrays in arrays are joined by commas as well, so that only values and commas count.
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => {
                let end = string_end(bytes, at);
                out.extend_from_slice(&json.get(at..end).and_then(string_bytes).unwrap_or_default());
                end
            }
            b'{' => {
                out.extend_from_slice(b"[object Object]");
                object_end(bytes, at)
            }
            b',' => {
                out.push(b',');
                at + 1
            }
            b't' => {
                out.extend_from_slice(b"true");
                at + 4
            }
            b'f' => {
                out.extend_from_slice(b"false");
                at + 5
            }
            b'n' => at + 4,
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = at + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let number = json.get(at..end).and_then(|number| number.parse().ok());
                out.extend_from_slice(number.map(number_text).unwrap_or_default().as_bytes());
                end
            }
            _ => at + 1,
        };
    }
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    match skip_string(bytes, at + 1) {
        Skipped::Closed(end) => end,
        Skipped::Open(_) | Skipped::Bad => bytes.len(),
    }
}

fn object_end(bytes: &[u8], mut at: usize) -> usize {
    let mut open = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if open == 0 {
            break;
        }
    }
    at
}

/// A number as JavaScript writes it.
fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    // The shortest digits that mean the number are the same in both languages, where they stand is not.
    let scientific = format!("{:e}", number.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = digits.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let before = exponent + 1;
    let cut = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or(0)).unwrap_or((&digits, ""));
    let shown = match before {
        22.. | ..=-6 => {
            let (first, rest) = cut(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{exponent:+}")
        }
        1.. if count <= before => format!("{digits}{}", zeros(before - count)),
        1.. => {
            let (whole, rest) = cut(before);
            format!("{whole}.{rest}")
        }
        _ => format!("0.{}{digits}", zeros(-before)),
    };
    format!("{sign}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        let mut out = Vec::new();
        push_to_string(json, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn texts_of_blocks_that_were_no_texts_were_listed_as_json() {
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
            assert_eq!(shown(json), want, "{json}");
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
            assert_eq!(shown(json), want, "{json}");
        }
    }

    #[test]
    fn a_deep_value_takes_one_pass() {
        let deep = format!("{}1{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(shown(&deep), "1");
        let deep = format!("[{}1{},2]", "{\"a\":".repeat(1 << 20), "}".repeat(1 << 20));
        assert_eq!(shown(&deep), "[object Object],2");
    }
}
