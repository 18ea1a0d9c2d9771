"""Known operations: code and programs made once per types of operands."""
