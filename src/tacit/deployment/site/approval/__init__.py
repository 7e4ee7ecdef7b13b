"""Whether a run may take place here: what the policy allows, and what the owner approves."""
