"""What each column of a table is for, guessed with reasons or given by the plan."""
