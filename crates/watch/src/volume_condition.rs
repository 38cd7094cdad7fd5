//! What a person is told of a volume that holds lost data.

use crate::conditions::array_line;
use crate::incident::{Condition, Urgency};
use crate::state::ArrayState;
use crate::words::{counted, typed};

impl ArrayState {
    /// The condition of a volume that holds lost data, by its own register.
    pub(crate) fn volume_lost(&self) -> Option<Condition> {
        let stripes = self.facts.lost_stripes.filter(|stripes| *stripes > 0)?;
        let name = &self.facts.name;
        let typed_name = typed(name);
        let headline = format!("DATA LOST in volume {name}: {}", lost_words(stripes));
        let lines = vec![
            array_line(self),
            "Meaning   reads there fail; more of its members were bad there than it can do without".to_owned(),
            format!("Do        which stripes: sudo scrubjay volume findings {typed_name}"),
            "          restore what lies there from a backup: what is written there can be read again".to_owned(),
        ];
        let amounts = vec![("lost".to_owned(), stripes)];
        Some(Condition { urgency: Urgency::Loss, amounts, headline, lines, controller: None, cause: None })
    }
}

/// `3 stripes hold lost data`.
pub(crate) fn lost_words(stripes: u64) -> String {
    format!("{} {} lost data", counted(stripes, "stripe"), if stripes == 1 { "holds" } else { "hold" })
}
