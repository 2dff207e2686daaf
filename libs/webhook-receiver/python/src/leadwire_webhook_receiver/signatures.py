import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import TypeAlias

# A body before any parsing. A str stands for its UTF-8 bytes: prefer the bytes, decoding may have changed them.
RawBody: TypeAlias = bytes | bytearray | memoryview | str

# One secret, or several while a receiver changes from one to the next.
Secrets: TypeAlias = str | Sequence[str]


def bytes_of(body: RawBody) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise TypeError(
        "The raw body must be bytes (or a str), exactly as they came. A parsed body, even printed as JSON again, has "
        "other bytes than those that were signed."
    )


def secrets_of(secret: Secrets) -> Sequence[str]:
    secrets = [secret] if isinstance(secret, str) else secret
    # An empty key would verify what anybody can compute: an unset environment variable must not open the door.
    if not secrets or not all(isinstance(one, str) and one for one in secrets):
        raise ValueError("The webhook secret is missing or empty.")
    return secrets


def _is_equal(given: str, right: str) -> bool:
    # Bytes: compare_digest refuses text beyond ASCII, which anybody can send.
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())


def service_signature(body: RawBody, secret: str) -> str:
    """HMAC-SHA1 over the raw body in lower-case hex, keyed with the bytes of the secret exactly as it is shown, prefix included."""
    [key] = secrets_of(secret)
    return hmac.new(key.encode(), bytes_of(body), hashlib.sha1).hexdigest()


def has_service_signature(body: RawBody, signature: str, secret: Secrets) -> bool:
    return any(_is_equal(signature, service_signature(body, one)) for one in secrets_of(secret))


def _standard_key(secret: str) -> bytes:
    # whsec_ and base64 is how the specification writes a key of bytes. A secret of any other form, and one that is not
    # exactly what encoding its bytes would give, is used as it is.
    encoded = secret[6:] if secret.startswith("whsec_") else ""
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    return key if key and base64.b64encode(key).decode() == encoded else secret.encode()


def standard_signature(body: RawBody, id: str, timestamp: str, secret: str) -> str:
    """Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64."""
    [key] = secrets_of(secret)
    content = f"{id}.{timestamp}.".encode("utf-8", "surrogateescape") + bytes_of(body)
    return "v1," + base64.b64encode(hmac.new(_standard_key(key), content, hashlib.sha256).digest()).decode()


def has_standard_signature(body: RawBody, id: str, timestamp: str, signatures: str, secret: Secrets) -> bool:
    """Whether one of `signatures`, separated by spaces, is right; other versions are passed over.

    Says nothing about the age of the request.
    """
    rights = [standard_signature(body, id, timestamp, one) for one in secrets_of(secret)]
    return any(_is_equal(given, right) for given in signatures.split(" ") for right in rights)
