//! Memory outside of the engine's heap that its objects keep alive.

use napi::{sys, Env};

use super::env::JsEnv;

/// The least change, in bytes, that is reported to the engine.
const STEP: i64 = 256 << 10;

/// An amount of memory that the engine adds to its own until this is dropped: with more memory it collects garbage sooner.
#[derive(Default)]
pub struct ExternalMemory {
    counted: Option<(sys::napi_env, i64)>,
}

impl ExternalMemory {
    /// Sets the amount, in bytes.
    pub fn set(&mut self, js: JsEnv<'_>, bytes: usize) {
        let (_, before) = *self.counted.get_or_insert((js.raw(), 0));
        let now = i64::try_from(bytes).unwrap_or(i64::MAX);
        if (now - before).abs() >= STEP {
            adjust(js.raw(), now - before);
            self.counted = Some((js.raw(), now));
        }
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        if let Some((env, counted)) = self.counted.take().filter(|(_, counted)| *counted != 0) {
            adjust(env, -counted);
        }
    }
}

fn adjust(env: sys::napi_env, bytes: i64) {
    // The environment is alive: what holds external memory is owned by objects of it and dropped in calls of the engine,
    // the last ones while it ends the environment.
    let _ = Env::from_raw(env).adjust_external_memory(bytes);
}
