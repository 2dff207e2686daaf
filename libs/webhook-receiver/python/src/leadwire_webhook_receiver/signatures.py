import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import TypeAlias

# An unparsed body. A str counts as its UTF-8 bytes. Prefer bytes, because decoding may change a body.
RawBody: TypeAlias = bytes | bytearray | memoryview | str

# One secret, or several while the secret is rotated.
Secrets: TypeAlias = str | Sequence[str]


def to_bytes(body: RawBody) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise TypeError(
        "The raw body must be bytes (or a str), exactly as received. A parsed body does not have the signed bytes, "
        "even if it is converted to JSON again."
    )


def require_secrets(secret: Secrets) -> Sequence[str]:
    secrets = [secret] if isinstance(secret, str) else secret
    # Rejects empty secrets, such as from an unset environment variable. Anyone could sign with an empty
    # secret.
    if not secrets or not all(isinstance(one, str) and one for one in secrets):
        raise ValueError("The webhook secret is missing or empty.")
    return secrets


def _is_equal(given: str, expected: str) -> bool:
    # Compares bytes, because compare_digest raises for text beyond ASCII, which anyone can send.
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def service_signature(body: RawBody, secret: str) -> str:
    """Returns the HMAC-SHA1 of the raw body in lower-case hex.

    The key is the bytes of the secret exactly as shown, including its prefix.
    """
    [key] = require_secrets(secret)
    return hmac.new(key.encode(), to_bytes(body), hashlib.sha1).hexdigest()


def has_service_signature(body: RawBody, signature: str, secret: Secrets) -> bool:
    return any(_is_equal(signature, service_signature(body, one)) for one in require_secrets(secret))


def _standard_key(secret: str) -> bytes:
    # The specification writes a binary key as whsec_ and base64, with or without padding. A secret is decoded
    # only if encoding the bytes again gives the same text. For any other secret, the bytes of its text are
    # the key.
    encoded = secret[6:] if secret.startswith("whsec_") else ""
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = b""
    padded = base64.b64encode(key).decode()
    is_base64 = key != b"" and encoded in (padded, padded.rstrip("="))
    return key if is_base64 else secret.encode()


def standard_signature(body: RawBody, id: str, timestamp: str, secret: str) -> str:
    """Returns a signature of Standard Webhooks 1.0.0.

    The signature is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.
    """
    [key] = require_secrets(secret)
    content = f"{id}.{timestamp}.".encode("utf-8", "surrogateescape") + to_bytes(body)
    return "v1," + base64.b64encode(hmac.new(_standard_key(key), content, hashlib.sha256).digest()).decode()


def has_standard_signature(body: RawBody, id: str, timestamp: str, signatures: str, secret: Secrets) -> bool:
    """Returns whether at least one of the space-separated `signatures` is valid.

    Ignores signatures of other versions. Does not check the age of the request.
    """
    expected = [standard_signature(body, id, timestamp, one) for one in require_secrets(secret)]
    return any(_is_equal(given, one) for given in signatures.split(" ") for one in expected)
