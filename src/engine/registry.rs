//! The static registry of filter plugins.

use super::framework::FilterPlugin;
use crate::kube::plugin::Plugin;

/// Every filter plugin that is computed, in the default order of the newest release.
pub static FILTERS: &[&dyn FilterPlugin] = &[];

/// The plugin's code, if it has a PreFilter or a Filter.
pub fn find(plugin: Plugin) -> Option<&'static dyn FilterPlugin> {
    FILTERS.iter().copied().find(|it| it.plugin() == plugin)
}
