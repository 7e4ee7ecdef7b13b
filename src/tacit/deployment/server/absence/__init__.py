"""Sites that are absent: whose replies are missing, what they missed, and who is online."""
