//! Documents to cluster. The only module that knows k8s-openapi.
