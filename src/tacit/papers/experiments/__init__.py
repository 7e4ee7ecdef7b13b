"""The paper's experiments that are no federation: one model, all rows in one place, nothing protected.

Each takes JSON values and returns figures; all train the same way (`central.train_and_measure`), so that rows of one table differ
only in their features.
"""

from tacit.papers.experiments.central import Figures, central
from tacit.papers.experiments.corpus import term_frequency, word2vec
from tacit.papers.experiments.keywords import averaged_vectors

__all__ = ["Figures", "averaged_vectors", "central", "term_frequency", "word2vec"]
