"""The pages of a server: which sites are online, and how its deployments go."""
