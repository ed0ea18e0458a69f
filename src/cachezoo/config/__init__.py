"""How params.yaml is composed from conf/ and loaded, and edits of conf/matrix.yaml."""
