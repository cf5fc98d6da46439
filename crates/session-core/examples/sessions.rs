//! Creates a session, appends a question and an answer, opens it again, prints the model's context, and lists the
//! directory: `cargo run -p pi-session-core --example sessions -- <directory>`. Without a directory it uses a temporary
//! one.

use std::error::Error;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_session_core::agent_message::{AgentMessage, AssistantMessage};
use pi_session_core::ids::session_id;
use pi_session_core::message_parts::{ContentBlock, Cost, StopReason, Usage};
use pi_session_core::{
    list, make_session_dir, Durability, ErrorCode, ListScope, NewHeader, Persistence, Session, SessionFileOptions,
};

fn now() -> Result<f64, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as f64)
}

/// An answer of the model.
fn answer(text: &str) -> Result<AgentMessage, Box<dyn Error>> {
    let cost = Cost { input: 0.003, output: 0.001, total: 0.004, ..Cost::default() };
    let usage = Usage { input: 1020.0, output: 74.0, total_tokens: Some(1094.0), cost: Some(cost), ..Usage::default() };
    Ok(AgentMessage::Assistant(AssistantMessage {
        content: vec![ContentBlock::text(text)],
        api: "messages".into(),
        provider: "acme".into(),
        model: "large".into(),
        usage: Some(usage),
        stop_reason: Some(StopReason::Stop),
        timestamp: Some(now()?),
        ..AssistantMessage::default()
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let own_dir = tempfile::tempdir()?;
    let dir = std::env::args_os().nth(1).unwrap_or_else(|| own_dir.path().into());
    let dir = dir.into_string().map_err(|_| "the directory's name must be Unicode")?;
    make_session_dir(&dir, Durability::Os)?;
    let options = SessionFileOptions::default();

    let id = session_id(now()?);
    let header = NewHeader { id: &id, cwd: "/project", parent: None, time: now()? };
    let file = Path::new(&dir).join(header.file_name()?);
    let mut session = Session::create(Some(&file), &header, options)?;
    // The first message of the user creates the file.
    session.append_message(AgentMessage::user("Which file is the largest?", now()?), now()?)?;
    session.append_message(answer("target, with two gigabytes")?, now()?)?;
    drop(session);

    let session = match Session::open(&file, Persistence::File, options) {
        Err(error) if error.code() == ErrorCode::SessionLocked => return Err("another program has the session".into()),
        opened => opened?,
    };
    for message in session.context(session.tree().leaf())?.messages {
        match message {
            AgentMessage::User(message) => println!("user: {}", message.content.texts().collect::<String>()),
            AgentMessage::Assistant(message) => {
                let cost = message.usage.as_ref().and_then(|usage| usage.cost.as_ref()).map_or(0.0, |cost| cost.total);
                println!("{}: {} ({cost} $)", message.model, message.texts().collect::<String>());
            }
            other => println!("{:?}", other.role()),
        }
    }
    drop(session);

    for file in list(&ListScope::dir(dir, None), None)? {
        println!("{} has {} messages", file.path, file.listed.summary.message_count);
    }
    Ok(())
}
