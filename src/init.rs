//! Sets up the addon in a JavaScript environment, and cleans up when the environment ends.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::engine::{JsEnv, JsVal};
use super::factory::{self, FactoryFn};
use super::lists::lazy_text;
use super::manager::{bodies, gc};
use pi_session_core::addon::release_all_locks;

// The engine calls this once per environment.
#[napi(module_exports)]
fn initialise(exports: Object, env: Env) -> Result<()> {
    let js = JsEnv::new(&env);
    factory::install(js, bodies::read_body_function(js)?, lazy_text::listed_text_function(js)?)?;
    gc::install(js);
    // Must be last. If a process exits at once, the thread's statics are destroyed in reverse order of their first use.
    // So the list of open environments is destroyed first, and the other statics do not release values in an engine
    // that is gone.
    js.begin();
    env.add_env_cleanup_hook(js.id(), |env| {
        env.end();
        let was_last_of_thread = factory::uninstall(env);
        // Managers that exist until the end are notified after this, if at all.
        if was_last_of_thread {
            release_all_locks();
        }
        gc::close(env);
    })?;
    let exports = JsVal::of(&exports);
    let class = js.get(exports, c"SessionManager")?;
    factory::call(js, FactoryFn::FinishClass, &[class]).map(drop)
}
