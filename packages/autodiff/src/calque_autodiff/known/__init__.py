"""Known operations with their derivatives: made from the rules once per types of operands."""
