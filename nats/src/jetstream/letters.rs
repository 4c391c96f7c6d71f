//! Dead letters in their stream.

use async_nats::HeaderMap;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};

use super::JetStream;
use super::publish::confirmed;
use crate::dead::{DeadLetter, SUBJECT, nanoseconds};
use crate::error::AskError;
use crate::message::ID;

impl JetStream {
    pub(crate) async fn dead_len(&self) -> Result<u64, AskError> {
        let source = self.clone();
        self.io().run(async move { Ok(source.dead_letters().await?.1.messages) }).await
    }

    pub(crate) async fn dead_list(&self, most: usize) -> Result<Vec<DeadLetter>, AskError> {
        let source = self.clone();
        self.io().run(async move { source.read(most).await }).await
    }

    async fn read(&self, most: usize) -> Result<Vec<DeadLetter>, AskError> {
        let (stream, state) = self.dead_letters().await?;
        let mut letters = Vec::new();
        for sequence in state.first_sequence.max(1)..=state.last_sequence {
            if letters.len() == most {
                break;
            }
            match stream.get_raw_message(sequence).await {
                Ok(message) => letters.push(DeadLetter {
                    headers: message.headers,
                    payload: message.payload,
                    sequence,
                    stored: message.time.into(),
                }),
                // It was replayed or deleted.
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {}
                Err(error) => return Err(AskError::NoAnswer(error.to_string())),
            }
        }
        Ok(letters)
    }

    pub(crate) async fn dead_replay(&self, letter: &DeadLetter) -> Result<(), AskError> {
        let (source, letter) = (self.clone(), letter.clone());
        self.io().run(async move { source.replay(&letter).await }).await
    }

    async fn replay(&self, letter: &DeadLetter) -> Result<(), AskError> {
        let mut headers: HeaderMap = letter.old_headers();
        // Not the id that the job had, which the server may remember and refuse.
        let (sequence, time) = (letter.sequence, nanoseconds(letter.stored));
        headers.insert(ID, format!("replay-{}-{sequence}-{time}", self.stream()));
        let subject = letter.header(SUBJECT).map_or_else(|| self.job_subject(None), str::to_owned);
        let sent = self.send_to(subject, headers, letter.payload.clone()).await;
        confirmed(sent.map_err(AskError::Publish)?).await.map_err(AskError::Publish)?;
        let (stream, _) = self.dead_letters().await?;
        let deleted = stream.delete_message(letter.sequence).await;
        deleted.map(drop).map_err(|error| AskError::NoAnswer(error.to_string()))
    }

    async fn dead_letters(
        &self,
    ) -> Result<(Stream, async_nats::jetstream::stream::State), AskError> {
        let stream = self.shared.context.get_stream(self.dead_stream()).await;
        let stream = stream.map_err(|error| AskError::NoAnswer(error.to_string()))?;
        let state = stream.cached_info().state.clone();
        Ok((stream, state))
    }
}
