use super::*;

#[test]
fn a_time_belongs_to_the_day_that_began_last() {
    let hour = 3_600_000.0;
    // A time zone two hours ahead of UTC, and from the second day on three.
    let calendar = Calendar::of_days(vec![(22.0 * hour, DAY_MS), (-2.0 * hour, 0.0), (45.0 * hour, 2.0 * DAY_MS)]);
    for (hours, day) in [(-2.0, 0.0), (21.9, 0.0), (22.0, 1.0), (44.9, 1.0), (45.0, 2.0), (-3.0, -1.0)] {
        assert_eq!(calendar.date_of(hours * hour), day * DAY_MS, "{hours}");
    }
    assert_eq!((Calendar::Utc.date_of(23.9 * hour), Calendar::Utc.date_of(-1.0)), (0.0, -DAY_MS));
}

#[test]
fn periods_are_named_by_their_first_day() {
    let date = 1_732_406_400_000.0;
    let labels = |date| [Period::Day, Period::Week, Period::Month].map(|period| period.label(date));
    assert_eq!(labels(date), ["2024-11-24", "2024-11-18", "2024-11"]);
    assert_eq!(labels(date + DAY_MS), ["2024-11-25", "2024-11-25", "2024-11"]);
    assert_eq!(labels(8.64e15 - DAY_MS)[2], "+275760-09");
    assert_eq!(labels(-8.64e15), ["-271821-04-20", "-271821-04-20", "-271821-04"]);
}
