"""Runs a Yosys script with pyosys, which has no command line of its own."""

import sys

from pyosys import libyosys

libyosys.run_pass("script " + sys.argv[1], libyosys.Design())
