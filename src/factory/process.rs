//! JavaScript's clock, and the process's directories and environment as JavaScript sees them.

use napi::Result;

use super::call;
use super::functions::FactoryFn;
use crate::engine::JsEnv;
use pi_session_core::wtf8::to_string_lossy;
use pi_session_core::{paths, Error as CoreError, Result as CoreResult};

/// The time in ms since 1970, from JavaScript's clock, because tests replace that.
pub fn now(js: JsEnv<'_>) -> Result<f64> {
    let now = call::call(js, FactoryFn::Now, &[])?;
    Ok(js.number_value(now)?.unwrap_or(f64::NAN))
}

/// The state of the process as JavaScript sees it, for the core.
pub struct JsProcess<'env>(pub JsEnv<'env>);

impl JsProcess<'_> {
    fn ask(&self, function: FactoryFn, argument: Option<&str>) -> Result<Option<String>> {
        let argument = argument.map(|text| self.0.string(text.as_bytes())).transpose()?;
        let answer = call::call(self.0, function, argument.as_slice())?;
        Ok(self.0.text(answer)?.map(|text| to_string_lossy(&text).into_owned()))
    }

    /// As [`ask`](Self::ask), with an error of the core. The exception itself stays pending.
    fn answer(&self, function: FactoryFn, argument: Option<&str>) -> CoreResult<Option<String>> {
        self.ask(function, argument).map_err(|error| CoreError::argument(error.reason))
    }
}

impl paths::Process for JsProcess<'_> {
    fn cwd(&self) -> CoreResult<String> {
        self.answer(FactoryFn::Cwd, None)?.ok_or_else(|| CoreError::argument("The working directory is unknown"))
    }

    fn home(&self) -> CoreResult<String> {
        if let Some(home) = self.answer(FactoryFn::Home, None)? {
            return Ok(home);
        }
        let home = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        home.ok_or_else(|| CoreError::argument("The home directory is unknown; set HOME, on Windows USERPROFILE"))
    }

    fn env(&self, name: &str) -> CoreResult<Option<String>> {
        self.answer(FactoryFn::Env, Some(name))
    }

    fn file_url(&self, url: &str) -> CoreResult<String> {
        self.answer(FactoryFn::FileUrl, Some(url))?.ok_or_else(|| CoreError::argument("The file URL names no path"))
    }

    fn agent_dir(&self) -> CoreResult<Option<String>> {
        self.answer(FactoryFn::AgentDir, None)
    }

    fn discard_error(&self) {
        // It does not matter whether an exception was pending.
        let _ = self.0.take_exception();
    }
}

/// The name of the application, if it is a renamed pi.
pub fn app_name(js: JsEnv<'_>) -> Result<Option<String>> {
    JsProcess(js).ask(FactoryFn::AppName, None)
}

/// A copy of the process's state for other threads. It cannot convert `file:` URLs, because that needs JavaScript.
pub struct ProcessSnapshot {
    pub cwd: String,
    pub home: String,
}

impl ProcessSnapshot {
    /// The current state. If the working directory was deleted, it is empty, because only relative paths need it.
    pub fn of(process: &JsProcess<'_>) -> CoreResult<Self> {
        let cwd = paths::Process::cwd(process).unwrap_or_else(|_| {
            paths::Process::discard_error(process);
            String::new()
        });
        Ok(Self { cwd, home: paths::Process::home(process)? })
    }
}

impl paths::Process for ProcessSnapshot {
    fn cwd(&self) -> CoreResult<String> {
        Ok(self.cwd.clone())
    }

    fn home(&self) -> CoreResult<String> {
        Ok(self.home.clone())
    }

    fn env(&self, _name: &str) -> CoreResult<Option<String>> {
        Ok(None)
    }

    fn file_url(&self, url: &str) -> CoreResult<String> {
        Err(CoreError::argument(format!("A file: URL cannot be resolved on this thread; pass a path: {url}")))
    }
}
