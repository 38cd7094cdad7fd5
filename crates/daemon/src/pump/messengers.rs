//! Delivers messages: one thread a channel, so that a channel that hangs does not delay the others.

use super::news::DaemonNews;
use crate::channels::{AlertChannels, SenderFacts};
use scrubjay_watch::rows::MessageRow;
use scrubjay_words::MessageText;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// A message, what it says, and facts about its sender.
type Outgoing = (MessageRow, MessageText, SenderFacts);

/// The channels, and a thread for each that was used.
pub(super) struct Messengers {
    channels: Arc<AlertChannels>,
    threads: BTreeMap<String, Sender<Outgoing>>,
    news: Sender<DaemonNews>,
}

impl Messengers {
    /// Results of deliveries are reported to `news`.
    pub(super) fn new(channels: AlertChannels, news: Sender<DaemonNews>) -> Messengers {
        Messengers { channels: Arc::new(channels), threads: BTreeMap::new(), news }
    }

    /// Replaces the channels. Deliveries under way continue by the old ones.
    pub(super) fn change(&mut self, channels: AlertChannels) {
        *self = Messengers::new(channels, self.news.clone());
    }

    /// Sends a message by its channel.
    pub(super) fn send(&mut self, message: MessageRow, text: MessageText, sender: SenderFacts) {
        let name = message.channel.clone();
        let thread = self.threads.entry(name.clone()).or_insert_with(|| {
            let (thread, outgoing) = mpsc::channel::<Outgoing>();
            let (channels, news) = (Arc::clone(&self.channels), self.news.clone());
            // If there is no thread, the send below fails, and the watch tries again.
            let _ = thread::Builder::new().name(format!("send {name}")).spawn(move || {
                for (message, text, sender) in outgoing {
                    let outcome = channels.deliver(&message, &text, &sender);
                    let (number, channel) = (message.number, message.channel);
                    let refused = channels.refused(&channel);
                    if news.send(DaemonNews::Delivered { number, channel, outcome, refused }).is_err() {
                        return;
                    }
                }
            });
            thread
        });
        if let Err(mpsc::SendError((message, ..))) = thread.send((message, text, sender)) {
            self.threads.remove(&name);
            let outcome = Err(crate::channels::DeliveryError::NoThread { why: "its thread ended".to_owned() });
            let number = message.number;
            let _ = self.news.send(DaemonNews::Delivered { number, channel: name, outcome, refused: None });
        }
    }

    /// Reports to the heartbeat's URL that the daily check went well.
    pub(super) fn beat(&self) {
        let (channels, news) = (Arc::clone(&self.channels), self.news.clone());
        let spawned = thread::Builder::new().name("heartbeat".into()).spawn(move || {
            if let Some(outcome) = channels.beat() {
                let _ = news.send(DaemonNews::Heartbeat(outcome));
            }
        });
        if let Err(error) = spawned {
            let outcome = Err(crate::channels::DeliveryError::NoThread { why: error.to_string() });
            let _ = self.news.send(DaemonNews::Heartbeat(outcome));
        }
    }
}
