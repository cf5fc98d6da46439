//! The options of usage reports, the calendar of JavaScript's time zone, and reports as JavaScript values.

use std::ffi::CStr;

use napi::Result;

use super::args::{self, Options};
use super::errors::{wrong_argument, OrThrow};
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::with_capacity;
use pi_session_core::usage::{Calendar, Grouping, ReportOptions};

/// How many of the largest entries are reported by default.
const LARGEST: usize = 10;

/// The names of the options of a report.
pub const REPORT_OPTIONS: &[&CStr] = &[c"by", c"since", c"until", c"utc", c"largest"];

/// The options of a report, and whether its days are days of UTC.
pub fn report_options<'env>(js: JsEnv<'env>, options: Options<'env>) -> Result<(ReportOptions, bool)> {
    let by = groupings(js, options.get(c"by")?)?;
    let since = options.time(c"since")?.unwrap_or(f64::NEG_INFINITY);
    let until = options.time(c"until")?.unwrap_or(f64::INFINITY);
    let largest = options.whole_number(c"largest")?.unwrap_or(LARGEST);
    let is_utc = js.is_truthy(options.get(c"utc")?)?;
    Ok((ReportOptions { since, until, by, largest }, is_utc))
}

fn groupings(js: JsEnv<'_>, by: JsVal<'_>) -> Result<Vec<Grouping>> {
    if js.is_nullish(by)? {
        return Ok(vec![Grouping::Model]);
    }
    let names = match args::optional_array(js, by)? {
        Some(list) => (0..js.len(list)?).map(|at| js.text(js.at(list, at)?)).collect::<Result<Vec<_>>>()?,
        None => vec![js.text(by)?],
    };
    let mut groupings = Vec::new();
    for name in names {
        let Some(grouping) = name.as_deref().and_then(Grouping::from_name) else {
            let names = Grouping::NAMED.map(|(name, _)| name);
            return Err(wrong_argument(js, format!("options.by must be of {}", names.join(", "))));
        };
        if !groupings.contains(&grouping) {
            groupings.push(grouping);
        }
    }
    Ok(groupings)
}

/// The calendar of JavaScript's time zone for these days of UTC.
pub fn local_calendar(js: JsEnv<'_>, utc_days: &[f64]) -> Result<Calendar> {
    let days = factory::call(js, FactoryFn::LocalDays, &[js.f64s(utc_days)?])?;
    let count = js.len(days)?;
    let mut read = with_capacity(count as usize).or_throw(js)?;
    for at in 0..count {
        read.push(js.scoped(|js, _| {
            let day = js.at(days, at)?;
            let number = |name| -> Result<f64> { Ok(js.number_value(js.get(day, name)?)?.unwrap_or_default()) };
            Ok((number(c"start")?, number(c"named")?))
        })?);
    }
    Ok(Calendar::of_days(read))
}
