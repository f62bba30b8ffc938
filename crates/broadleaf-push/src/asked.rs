//! The settings of a push, as `broadleaf push` passes them on.

use crate::place::Manner;
use crate::ranks::Ranks;
use serde_json::Value;

/// The user's settings, on every rank.
pub struct Asked {
    /// Several are put into a folder, each under its own name.
    pub sources: Vec<String>,
    to: String,
    pub verify: bool,
    pub limit_bytes_per_s: Option<f64>,
    pub manner: Manner,
}

impl Asked {
    pub fn read(text: &[u8]) -> Option<Asked> {
        let value: Value = serde_json::from_slice(text).ok()?;
        let number = |name: &str| value[name].as_u64().and_then(|number| u32::try_from(number).ok());
        let manner = Manner {
            mode: number("mode"),
            keeps_set_id: value["keep_set_id"].as_bool()?,
            user: number("user"),
            group: number("group"),
        };
        Some(Asked {
            sources: value["sources"]
                .as_array()?
                .iter()
                .map(|each| Some(each.as_str()?.into()))
                .collect::<Option<_>>()?,
            to: value["to"].as_str()?.into(),
            verify: value["verify"].as_bool()?,
            limit_bytes_per_s: value["limit_bytes_per_s"].as_f64(),
            manner,
        })
    }

    /// An entry's name on the root.
    pub fn shown(&self, path: &[u8]) -> String {
        let path = String::from_utf8_lossy(path);
        match &self.sources[..] {
            [only] if path.is_empty() => only.clone(),
            [only] => format!("{only}/{path}"),
            _ => path.into_owned(),
        }
    }

    /// The target of one rank, with `{host}` and `{rank}` replaced by the host's name and the rank's number.
    pub fn target(&self, ranks: &dyn Ranks) -> String {
        self.to.replace("{host}", ranks.host()).replace("{rank}", &ranks.rank().to_string())
    }
}
