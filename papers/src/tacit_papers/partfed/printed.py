"""The numbers that Fisichella, Lax and Russo (Information Sciences 614, 2022) print, and the
thresholds in their figures.
"""

THRESHOLDS = {
    "k_anonymity": (1, 50, 100, 200, 300, 400, 500, 554, 555),
    "label_k": (1, 50, 100, 200, 300, 400, 402, 403),
}
SHARED = {  # Figure 4 as the text says it: everything, nothing, and "for l about 200, 50%"
    ("k_anonymity", 1): 1.0, ("k_anonymity", 554): 0.0, ("label_k", 1): 1.0, ("label_k", 200): 0.5, ("label_k", 402): 0.0,
}  # fmt: skip
# rule and threshold: seconds at the server, at the slowest client and on the link for 100 epochs;
# Table 1
TIMES = {
    ("k_anonymity", 1): (126.00, 0.0, 0.79),
    ("k_anonymity", 100): (110.64, 13.18, 0.69),
    ("k_anonymity", 200): (78.58, 15.05, 0.59),
    ("k_anonymity", 300): (66.97, 15.95, 0.41),
    ("k_anonymity", 400): (42.53, 19.55, 0.27),
    ("k_anonymity", 500): (24.12, 21.13, 0.12),
    ("k_anonymity", 555): (0.0, 24.75, 0.0),
    ("label_k", 100): (91.88, 5.61, 0.63),
    ("label_k", 200): (55.52, 13.28, 0.41),
    ("label_k", 300): (31.71, 22.41, 0.35),
}
TOTALS = {  # the totals of Table 1, and of Table 2 with a server ten times as fast
    ("k_anonymity", 1): (126.79, 13.39),
    ("k_anonymity", 100): (124.51, 24.93),
    ("k_anonymity", 200): (94.22, 23.50),
    ("k_anonymity", 300): (83.34, 23.06),
    ("k_anonymity", 400): (62.36, 24.08),
    ("k_anonymity", 500): (45.38, 23.67),
    ("k_anonymity", 555): (24.75, 24.75),
    ("label_k", 100): (98.12, 15.43),
    ("label_k", 200): (69.21, 19.24),
    ("label_k", 300): (54.47, 25.93),
}
