"""Maps that were edited on purpose."""

import json
import re

from trueline.documents import with_checksum


def signed(document):
    """Return a document, or its text, as JSON with the right checksum."""
    if isinstance(document, dict):
        document = {key: value for key, value in document.items() if key != "sha256"}
    text = document if isinstance(document, str) else json.dumps(document)
    return with_checksum(re.sub(r', "sha256": "[0-9a-f]{64}"}$', "}", text))
