"""Speed side by side with peers: `python -m bench
round|parts|overhead|kernels|growth|start|share|step|all`.

What is measured is the checkout this file lies in, whatever is installed: each process imports
`bench` first.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
sys.path.insert(0, str(SOURCE))
