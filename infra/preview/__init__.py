"""config -> decide -> build -> recognise -> judge -> tell: the one entry for program, command and tests."""
