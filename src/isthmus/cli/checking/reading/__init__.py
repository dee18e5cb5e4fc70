"""What clusters show, read into values: the only part of checking that talks to anybody."""
