"""The request path: from a request to an answer, as kube-apiserver goes it."""
