//! Upstream's words: rejections to the sentences of `FailedScheduling`, by behaviour.
