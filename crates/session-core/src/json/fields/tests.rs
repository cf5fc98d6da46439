use crate::json::reader::{read, Raw};

fields! {
    struct Sample<V> {
        id: V = "id",
    }
}

fn id_of(text: &str) -> Option<String> {
    let sample: Sample<Raw<'_>> = read(text)?;
    sample.id.map(|raw| raw.get().to_owned())
}

#[test]
fn fields_are_found_as_javascript_finds_them() {
    assert_eq!(id_of(r#"{"x":[1,{"id":9}],"id":1}"#).as_deref(), Some("1"));
    assert_eq!(id_of(r#"{"id":1,"id":2}"#).as_deref(), Some("2"));
    assert_eq!(id_of(r#"{"\u0069d":"\ud83d"}"#).as_deref(), Some(r#""\ud83d""#));
    assert_eq!(id_of(r#"{"\ud83d":0,"id":1e999}"#).as_deref(), Some("1e999"));
    assert_eq!(id_of(r#"{"id":1}x"#), None);
}
