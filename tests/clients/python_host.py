"""Loads a client program as a plug-in, locally, as Python loads extension modules.

usage: python_host.py MODULE FILE. The MPI library then is in no global scope, where RTLD_NEXT of a
preloaded library would look for it; mpi4py programs are like this.
"""

import ctypes
import os
import sys


def main():
    module = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW)
    words = [word.encode() for word in ("client", *sys.argv[2:])]
    arguments = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    sys.exit(module.main(len(words), arguments))


if __name__ == "__main__":
    main()
