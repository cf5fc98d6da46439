//! How many random cases a test runs: a row of `__test__/counts.json`, which the JavaScript tests read, too.

use serde_json::Value;

/// Of the row `name`: the number that `PSN_<NAME>` gives, else that of the column in `PSN_COUNTS`, which is `taste` where
/// nothing is said.
pub fn count(name: &str) -> u32 {
    if let Ok(own) = std::env::var(format!("PSN_{}", name.to_uppercase())) {
        return own.parse().unwrap_or_else(|_| panic!("PSN_{}: {own} is no number", name.to_uppercase()));
    }
    let table: Value = serde_json::from_str(include_str!("../../../__test__/counts.json")).expect("JSON");
    let column = std::env::var("PSN_COUNTS").unwrap_or_else(|_| "taste".to_owned());
    let number = table[name][&column].as_u64();
    number.and_then(|number| number.try_into().ok()).unwrap_or_else(|| panic!("counts.json has no {name} of {column}"))
}
