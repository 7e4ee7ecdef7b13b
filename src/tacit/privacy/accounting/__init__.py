"""Privacy loss of mechanisms, alone and composed."""
