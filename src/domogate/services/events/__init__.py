"""What applications are told of: which changes, to whom, in what words; and the streams they are told by."""
