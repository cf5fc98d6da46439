use super::*;

#[test]
fn edits_keep_the_texts_of_other_values() {
    let text = r#"{"type":"x", "n":1.0,"a":"\u00e9" ,"\u006e":-0,"b" : [ 1.50, "\u00e9" ]}"#;
    let mut object = ObjectText::read(text).expect("memory").expect("an object");
    object.set("type", "\"y\"").expect("memory");
    object.set("new", "null").expect("memory");
    object.remove("a");
    let out = object.text().expect("memory");
    assert_eq!(String::from_utf8_lossy(&out), r#"{"type":"y","n":-0,"b":[ 1.50, "\u00e9" ],"new":null}"#);
    assert!(ObjectText::read("[1]").expect("memory").is_none());
}
