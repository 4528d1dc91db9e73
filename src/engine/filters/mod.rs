//! Filter plugins, one file each under upstream's name. A filter never imports another.
