"""The pages of a data owner: who asks, what the site holds, policy, ledger, health, history, and stop."""
