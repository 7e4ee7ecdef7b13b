"""The pages of `tacit ui`: runs, live and side by side. They read records only."""
