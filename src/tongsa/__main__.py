import sys

from tongsa.cli import main

sys.exit(main())
