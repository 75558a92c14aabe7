//! S29, one group for one namespace: two databases never share the group that spreads their work.

use std::collections::BTreeMap;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Which namespace each group works for.
#[derive(Default)]
pub struct OneGroup {
    namespaces: BTreeMap<String, u128>,
}

impl Check for OneGroup {
    const NAME: &'static str = "S29";
    const CLAIM: &'static str =
        "all members of a group work for one namespace UUID, and all of that UUID are in one group";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, _: &Truth) -> Verdict {
        let Fact::Joined { who, group, namespace } = fact else { return Ok(()) };
        if let Some(known) = self.namespaces.get(*group) {
            if known == namespace {
                return Ok(());
            }
            return Err(format!(
                "{who} joins {group} for namespace {namespace:032x}, others for {known:032x}"
            ));
        }
        if let Some((other, _)) = self.namespaces.iter().find(|(_, known)| *known == namespace) {
            return Err(format!("{who} joins {group} for namespace {namespace:032x}, others joined {other}"));
        }
        self.namespaces.insert((*group).to_owned(), *namespace);
        Ok(())
    }
}
