use super::*;

#[test]
fn iso_is_javascripts() {
    assert_eq!(iso(0.0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
    assert_eq!(iso(-1.0).as_deref(), Some("1969-12-31T23:59:59.999Z"));
    assert_eq!(iso(8.64e15).as_deref(), Some("+275760-09-13T00:00:00.000Z"));
    assert_eq!(iso(-8.64e15).as_deref(), Some("-271821-04-20T00:00:00.000Z"));
    assert_eq!(iso(-62198755200000.0).as_deref(), Some("-000001-01-01T00:00:00.000Z"));
    assert_eq!(iso(f64::NAN), None);
    assert_eq!(iso(8.65e15), None);
}

#[test]
fn iso_forms_with_a_zone_are_read_here_and_no_others() {
    for (text, ms) in [
        ("2024-12-03T14:00:00.123Z", 1733234400123.0),
        ("2024-12-03T14:00:00.123999Z", 1733234400123.0),
        ("2024-12-03T14:00:00.1Z", 1733234400100.0),
        ("2024-12-03T14:00:00Z", 1733234400000.0),
        ("2024-12-03T19:30:00+05:30", 1733234400000.0),
        ("2024-12-03T13:59:00.5-00:01", 1733234400500.0),
    ] {
        assert_eq!(Time::from_text(text.as_bytes()), Time::At(ms), "{text}");
    }
    for other in [
        "2024-12-03T14:00:00",
        "2024-12-03 14:00:00Z",
        "2024-12-03T14:00:00.Z",
        "2024-12-03T14:00:00+0530",
        "2024-12-03T14:00:00+24:00",
        "2024-12-03T14:00:00+00:60",
        "2024-12-03T14:00:00é",
        "2024-12-03T14:00:60Z",
        "2024-02-30T00:00:00.000Z",
        "2024-12-03T24:00:00.000Z",
        "Dec 3 2024",
        "",
    ] {
        assert_eq!(Time::from_text(other.as_bytes()), Time::Unparsed, "{other}");
    }
}

#[test]
fn numbers_are_clipped_as_dates_are() {
    assert_eq!(Time::from_number(1.9), Time::At(1.0));
    assert!(matches!(Time::from_number(9e15), Time::At(ms) if ms.is_nan()));
}
