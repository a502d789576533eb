"""One AdmissionReview in, one verdict out: pure functions, without I/O, clock, Flask or Kubernetes calls."""
