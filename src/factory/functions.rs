//! The functions that the scripts of this room export, by name.

use std::ffi::CStr;

macro_rules! factory {
    ($($name:ident = $text:literal,)+) => {
        /// A function of the factory.
        #[derive(Debug, Clone, Copy)]
        pub enum FactoryFn {
            $($name,)+
        }

        /// The names of the functions in the factory, in the enum's order.
        pub const NAMES: &[&CStr] = &[$($text,)+];
    };
}

factory! {
    Messages = c"messages",
    EditedMessage = c"editedMessage",
    WithContent = c"withContent",
    Parse = c"parse",
    ListOf = c"listOf",
    AddTo = c"addTo",
    TextBlock = c"textBlock",
    Write = c"write",
    Anchor = c"anchor",
    Subscribe = c"subscribe",
    Notify = c"notify",
    FinishClass = c"finishClass",
    ArrayOf = c"arrayOf",
    UnknownKey = c"unknownKey",
    Now = c"now",
    Cwd = c"cwd",
    Env = c"env",
    Home = c"home",
    FileUrl = c"fileUrl",
    AgentDir = c"agentDir",
    SetAgentDir = c"setAgentDir",
    AppName = c"appName",
    EntriesOf = c"entriesOf",
    Assign = c"assign",
    Remove = c"remove",
    MapGet = c"mapGet",
    EntriesById = c"entriesById",
    NewSet = c"newSet",
    AddNew = c"addNew",
    MessageEntry = c"messageEntry",
    EnvelopeFirst = c"envelopeFirst",
    EnvelopeLast = c"envelopeLast",
    Rechained = c"rechained",
    UnreadText = c"unreadText",
    Lines = c"lines",
    ParseLines = c"parseLines",
    Fill = c"fill",
    Defer = c"defer",
    MoveTo = c"moveTo",
    LacksContent = c"lacksContent",
    Pick = c"pick",
    Slice = c"slice",
    Tree = c"tree",
    Outline = c"outline",
    Project = c"project",
    Context = c"context",
    WithSettings = c"withSettings",
    JustMessages = c"justMessages",
    ModelOf = c"modelOf",
    Info = c"info",
    NewestFirst = c"newestFirst",
    NewestTime = c"newestTime",
    LocalDays = c"localDays",
    ByName = c"byName",
    InsertNewest = c"insertNewest",
    Slices = c"slices",
    UnreadTexts = c"unreadTexts",
    RequestedTexts = c"requestedTexts",
    Listen = c"listen",
    Message = c"message",
}
