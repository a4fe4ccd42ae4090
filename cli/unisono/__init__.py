"""The command `unisono`: starts MPI programs under Unisono and reads its reports."""
