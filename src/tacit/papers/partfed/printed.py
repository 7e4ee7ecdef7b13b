"""The numbers that Fisichella, Lax and Russo (Information Sciences 614, 2022) print, and recounts of what they draw."""

SHARES = {
    "k_anonymity": {50: 0.845, 100: 0.809, 200: 0.669, 300: 0.478, 400: 0.390, 500: 0.139, 555: 0.0},
    "label_k": {50: 0.785, 100: 0.729, 200: 0.454, 300: 0.224, 400: 0.013, 403: 0.0},
}
READ_OFF = {("label_k", 200): 0.50}  # Figure 4 as the text says it: "for l about 200, 50%"
TIMES = {  # rule and threshold: server, client, transfer, total; then server and total with a server ten times as fast
    ("k_anonymity", 1): (126.00, 0.0, 0.79, 126.79, 12.60, 13.39),
    ("k_anonymity", 100): (110.64, 13.18, 0.69, 124.51, 11.06, 24.93),
    ("k_anonymity", 200): (78.58, 15.05, 0.59, 94.22, 7.86, 23.50),
    ("k_anonymity", 300): (66.97, 15.95, 0.41, 83.34, 6.70, 23.06),
    ("k_anonymity", 400): (42.53, 19.55, 0.27, 62.36, 4.25, 24.08),
    ("k_anonymity", 500): (24.12, 21.13, 0.12, 45.38, 2.41, 23.67),
    ("k_anonymity", 555): (0.0, 24.75, 0.0, 24.75, 0.0, 24.75),
    ("label_k", 100): (91.88, 5.61, 0.63, 98.12, 9.19, 15.43),
    ("label_k", 200): (55.52, 13.28, 0.41, 69.21, 5.55, 19.24),
    ("label_k", 300): (31.71, 22.41, 0.35, 54.47, 3.17, 25.93),
}
