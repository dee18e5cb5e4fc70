"""What a decoder raises, whatever it is given.

It is not among the types of the wire: commands that decode nothing need not load a decoder.
"""

import msgspec

# For the wrong shape, for bytes that are no text (or text that is no characters), for bottomless
# depth.
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
