//! When what a server has answered survives its end.
//!
//! Redis writes its append-only file before it answers, but with `appendfsync everysec` not while a sync of the file is
//! under way: then it answers first, and writes when the sync has ended, up to two seconds later. A server that is killed
//! in between takes with it what it has answered. So nobody is told that a part is stored before the server says that it
//! has written what it had to write.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, RedisResult};
use tokio::sync::watch;

use crate::redis_log::info::ServerInfo;

/// Pause before the server is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// Asks over one connection for all who wait: a question answers everybody who came before it was begun.
///
/// **Invariant:** the server that answers is the one that answered them, since it is over the same connection: a server
/// that was started again has written everything, but not what the one before it had answered.
#[derive(Debug, Default)]
pub(crate) struct Written(watch::Sender<Questions>);

#[derive(Debug, Default)]
struct Questions {
    /// How many were begun.
    begun: u64,
    /// The newest that was answered well.
    answered: u64,
    /// True while one is asked.
    open: bool,
}

impl Written {
    /// Returns when everything that the server has answered over this connection is in its file, or it keeps none.
    pub(crate) async fn wait(&self, connection: MultiplexedConnection) -> RedisResult<()> {
        let mut questions = self.0.subscribe();
        let too_early = questions.borrow().begun;
        loop {
            let enough = |questions: &Questions| questions.answered > too_early;
            let begins = self.0.send_if_modified(|questions| {
                let begins = !enough(questions) && !questions.open;
                questions.begun += u64::from(begins);
                questions.open |= begins;
                begins
            });
            if begins {
                self.ask(connection.clone()).await?;
            }
            // The sender lives as long as this call.
            let settled = questions.wait_for(|questions| enough(questions) || !questions.open).await;
            if settled.is_ok_and(|questions| enough(&questions)) {
                return Ok(());
            }
        }
    }

    /// Asks in a task of its own: whoever began it may be dropped, or left alone for long, and the others wait for it.
    async fn ask(&self, connection: MultiplexedConnection) -> RedisResult<()> {
        let questions = self.0.clone();
        let asked = tokio::spawn(async move {
            let written = until_written(connection).await;
            questions.send_modify(|questions| {
                questions.open = false;
                if written.is_ok() {
                    questions.answered = questions.begun;
                }
            });
            written
        });
        asked.await.unwrap_or_else(|e| Err(std::io::Error::other(e).into()))
    }
}

async fn until_written(mut connection: MultiplexedConnection) -> RedisResult<()> {
    let mut then = look(&mut connection).await?;
    // Without a file there is never anything to write.
    while then.aof_buffer_bytes > 0 {
        let now = look(&mut connection).await?;
        if now.aof_bytes >= then.aof_bytes + then.aof_buffer_bytes {
            return Ok(());
        }
        // All is written, or the file was written anew: it is shorter.
        if now.aof_buffer_bytes == 0 || now.aof_bytes < then.aof_bytes {
            then = now;
        } else {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }
    Ok(())
}

async fn look(connection: &mut MultiplexedConnection) -> RedisResult<ServerInfo> {
    let text: String = redis::cmd("INFO").arg("persistence").query_async(connection).await?;
    let info = ServerInfo::parse(&text);
    if info.aof && !info.aof_works {
        return Err(RedisError::from((ErrorKind::Client, "the append-only file cannot be written")));
    }
    Ok(info)
}
