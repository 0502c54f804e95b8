"""How fitted maps are written: bytes with arrays, and JSON, both with a checksum."""

from trueline.documents._binary import MAGIC, VERSION, decode, encode
from trueline.documents._checksum import checksum_is_right, sign, with_checksum

__all__ = ["MAGIC", "VERSION", "checksum_is_right", "decode", "encode", "sign", "with_checksum"]
