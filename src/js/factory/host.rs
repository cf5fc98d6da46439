//! What the addon keeps per JavaScript environment: the compiled factory, and the host's answers through it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use napi::{sys, Result};

use crate::core::base::error::{Error as CoreError, Result as CoreResult};
use crate::core::base::paths;
use crate::core::base::threads::stop_all;
use crate::core::base::wtf8::to_string_lossy;
use crate::core::io::at_exit;
use crate::js::convert::errors::thrown;
use crate::js::engine::raw::{Js, Kept, Val};
use crate::js::engine::slots::Slots;

const FACTORY: &str = include_str!("factory.js");
const LAZY: &str = include_str!("lazy.js");

macro_rules! factory {
    ($($name:ident = $text:literal,)+) => {
        /// A function of the factory.
        #[derive(Debug, Clone, Copy)]
        pub enum F {
            $($name,)+
        }

        /// Their names in the factory, in the enum's order.
        const NAMES: &[&CStr] = &[$($text,)+];
    };
}

factory! {
    Messages = c"messages",
    Contribution = c"contribution",
    Parse = c"parse",
    Stringify = c"stringify",
    Anchor = c"anchor",
    Subscribe = c"subscribe",
    Notify = c"notify",
    ThroughProxies = c"throughProxies",
    ListOf = c"listOf",
    Now = c"now",
    Cwd = c"cwd",
    Env = c"env",
    Home = c"home",
    FileUrl = c"fileUrl",
    AgentDir = c"agentDir",
    AppName = c"appName",
    Shown = c"shown",
    EntriesOf = c"entriesOf",
    MapGet = c"mapGet",
    Header = c"header",
    EnvelopeFirst = c"envelopeFirst",
    EnvelopeLast = c"envelopeLast",
    Rechained = c"rechained",
    RechainedCompaction = c"rechainedCompaction",
    UnreadText = c"unreadText",
    Lines = c"lines",
    ParseLines = c"parseLines",
    Fill = c"fill",
    Defer = c"defer",
    MoveTo = c"moveTo",
    LacksContent = c"lacksContent",
    Copy = c"copy",
    Pick = c"pick",
    InOrder = c"inOrder",
    Run = c"run",
    Tree = c"tree",
    Project = c"project",
    Context = c"context",
    WithSettings = c"withSettings",
    JustMessages = c"justMessages",
    ModelOf = c"modelOf",
    Info = c"info",
    NewestFirst = c"newestFirst",
    NewestTime = c"newestTime",
    SortFiles = c"sortFiles",
    Hit = c"hit",
    InsertNewest = c"insertNewest",
    Later = c"later",
    Slices = c"slices",
    UseText = c"useText",
    Failure = c"failure",
    Listen = c"listen",
    Message = c"message",
    OwnThinkingLevel = c"ownThinkingLevel",
    OwnModel = c"ownModel",
    OwnUsage = c"ownUsage",
    OwnUsageWithNote = c"ownUsageWithNote",
    OwnCompaction = c"ownCompaction",
    OwnCompactionWithPrompt = c"ownCompactionWithPrompt",
    OwnCustom = c"ownCustom",
    OwnName = c"ownName",
    OwnCustomMessage = c"ownCustomMessage",
    OwnEdit = c"ownEdit",
    OwnLabel = c"ownLabel",
    OwnBranchSummary = c"ownBranchSummary",
    TextBlocks = c"textBlocks",
    LabelEntry = c"labelEntry",
}

/// How many environments use the addon.
static ENVIRONMENTS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// One thread may hold several environments (vm contexts load the addon once each).
    static FACTORIES: RefCell<Vec<(sys::napi_env, Rc<Installed>)>> = const { RefCell::new(Vec::new()) };
}

struct Installed {
    functions: Vec<Kept>,
    slots: Slots,
}

/// Compiles the factory for this environment, once.
pub fn install(env: &napi::Env) -> Result<()> {
    let js = Js::new(env);
    let factory = js.run(FACTORY)?;
    let lazy = js.call(js.run(LAZY)?, &[crate::js::manager::bodies::reader(js)?])?;
    let function = |name: &CStr| {
        let function = js.get(factory, name)?;
        let function = if js.is_undefined(function)? { js.get(lazy, name)? } else { function };
        js.keep(function)
    };
    let functions = NAMES.iter().map(|name| function(name)).collect::<Result<Vec<Kept>>>()?;
    let slots = Slots::of(js, js.get(factory, c"slots")?)?;
    let raw = js.raw();
    FACTORIES.with(|all| all.borrow_mut().push((raw, Rc::new(Installed { functions, slots }))));
    crate::js::lists::lazy_text::install(js)?;
    crate::js::manager::gc::install(js);
    ENVIRONMENTS.fetch_add(1, Ordering::Relaxed);
    // The engine frees the references itself when the environment ends.
    env.add_env_cleanup_hook(raw as usize, |raw| {
        let was_last = FACTORIES.with(|all| {
            let mut all = all.borrow_mut();
            all.retain(|(env, _)| *env != raw as sys::napi_env);
            all.is_empty()
        });
        // Managers that live until the end are told of it after this, if at all.
        if was_last {
            at_exit::release_all();
        }
        crate::js::lists::lazy_text::close();
        crate::js::manager::gc::close(raw as sys::napi_env);
        // With the last environment the library may go: nothing of it may run then.
        if ENVIRONMENTS.fetch_sub(1, Ordering::Relaxed) == 1 {
            stop_all();
        }
    })?;
    Ok(())
}

/// Calls a function of the factory.
pub fn make(js: Js, function: F, args: &[Val]) -> Result<Val> {
    let function = FACTORIES.with(|all| {
        let all = all.borrow();
        let installed = all.iter().find(|(env, _)| *env == js.raw()).map(|(_, installed)| installed);
        let kept = installed.and_then(|installed| installed.functions.get(function as usize));
        kept.map(|kept| js.kept(kept))
    });
    let function = function.ok_or_else(|| napi::Error::from_reason("The addon was not initialised here"))??;
    js.call(function, args)
}

/// The numbers that the factory's last call left in its slots.
pub fn slots(js: Js) -> Result<[f64; 4]> {
    FACTORIES.with(|all| {
        let all = all.borrow();
        let installed = all.iter().find(|(env, _)| *env == js.raw()).map(|(_, installed)| installed);
        let installed = installed.ok_or_else(|| napi::Error::from_reason("The addon was not initialised here"))?;
        Ok(installed.slots.read())
    })
}

/// The time in ms since 1970, from JavaScript's clock, which tests replace.
pub fn now(js: Js) -> Result<f64> {
    let now = make(js, F::Now, &[])?;
    Ok(js.number_value(now)?.unwrap_or(f64::NAN))
}

/// The host's answers about paths, for the core.
pub struct JsHost(pub Js);

impl JsHost {
    fn ask(&self, function: F, args: &[Val]) -> Result<Option<String>> {
        let answer = make(self.0, function, args)?;
        Ok(self.0.text(answer)?.map(|text| to_string_lossy(&text).into_owned()))
    }
}

/// An exception that is pending in the engine crosses the core as an error of its own and comes out as itself.
fn crossing<T>(result: Result<T>) -> CoreResult<T> {
    result.map_err(|error| CoreError::argument(error.reason.to_string()))
}

impl paths::Host for JsHost {
    fn cwd(&self) -> CoreResult<String> {
        let cwd = crossing(self.ask(F::Cwd, &[]))?;
        cwd.ok_or_else(|| CoreError::argument("The working directory is unknown"))
    }

    fn home(&self) -> CoreResult<String> {
        if let Some(home) = crossing(self.ask(F::Home, &[]))? {
            return Ok(home);
        }
        let home = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        home.ok_or_else(|| CoreError::argument("The home directory is unknown"))
    }

    fn env(&self, name: &str) -> CoreResult<Option<String>> {
        crossing(self.0.string(name.as_bytes()).and_then(|name| self.ask(F::Env, &[name])))
    }

    fn file_url(&self, url: &str) -> CoreResult<String> {
        let path = crossing(self.0.string(url.as_bytes()).and_then(|url| self.ask(F::FileUrl, &[url])))?;
        path.ok_or_else(|| CoreError::argument("The file URL names no path"))
    }

    fn agent_dir(&self) -> CoreResult<Option<String>> {
        crossing(self.ask(F::AgentDir, &[]))
    }

    fn give_up(&self) {
        // Whether one was pending is no matter.
        let _ = self.0.take_exception();
    }
}

/// The name that the application gives itself, if it is a renamed pi.
pub fn app_name(js: Js) -> Result<Option<String>> {
    JsHost(js).ask(F::AppName, &[])
}

/// Runs a core call on paths; its error is thrown.
pub fn on_paths<T>(js: Js, work: impl FnOnce(&JsHost) -> CoreResult<T>) -> Result<T> {
    work(&JsHost(js)).map_err(|error| thrown(js, &error))
}

/// The host's answers of one moment, for other threads. URLs only JavaScript itself understands.
pub struct HostThen {
    pub cwd: String,
    pub home: String,
}

impl HostThen {
    /// What the host answers now. A working directory that is gone is none: only relative paths need it.
    pub fn of(js: Js) -> Result<Self> {
        let cwd = match on_paths(js, paths::Host::cwd) {
            Ok(cwd) => cwd,
            Err(_) => js.take_exception().map(|_| String::new())?,
        };
        on_paths(js, |host| Ok(Self { cwd: cwd.clone(), home: paths::Host::home(host)? }))
    }
}

impl paths::Host for HostThen {
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
        Err(CoreError::argument(format!("Not understood here: {url}")))
    }
}
