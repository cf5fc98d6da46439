pub mod appends;
pub mod diagnostics;
pub mod functions;
pub mod manager;
pub mod merge;
pub mod session_info_methods;
pub mod statics;
