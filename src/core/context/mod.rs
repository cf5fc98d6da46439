pub mod branch;
pub mod context_edit;
pub mod path_cache;
pub mod projection;
pub mod system_prompt;
