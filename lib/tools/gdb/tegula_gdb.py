# Prints the tiles and scalars of a kernel that runs on the debug device (TEGULA_DEVICE=debug).
#
# Load it with `source tegula_gdb.py`, or from .gdbinit. The values live in the program, which is asked for them, so the
# program must run; a core file shows the handles alone.
import gdb
import gdb.printing


class Traced:
    """Prints the value that a tile or a scalar names."""

    def __init__(self, value):
        self.handle = value["handle_"]

    def to_string(self):
        trace, value = int(self.handle["trace"]), int(self.handle["value"])
        call = "((char const *(*)(unsigned, int))tegula_debug_text)(%du, %d)" % (trace, value)
        try:
            return gdb.parse_and_eval(call).string()
        except gdb.error as error:
            return "value %d of trace %d (%s)" % (value, trace, error)


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tegula")
    collection.add_printer("tile", "^tegula::tile<.*>$", Traced)
    collection.add_printer("scalar", "^tegula::scalar<.*>$", Traced)
    return collection


gdb.printing.register_pretty_printer(None, printers(), replace=True)
