import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, Protocol, TypeAlias

from .signatures import RawBody, Secrets, bytes_of, has_service_signature, has_standard_signature

# The README says what each means. Of too_old, too_new and malformed_body the signature is right.
RefusalCode: TypeAlias = Literal[
    "missing_header", "malformed_header", "bad_signature", "too_old", "too_new", "malformed_body"
]


class HasItems(Protocol):
    def items(self) -> Iterable[tuple[str, str]]: ...


# A mapping, such as the headers of Flask, Django and Starlette, or pairs of name and value.
HeadersLike: TypeAlias = HasItems | Iterable[tuple[str, str]]


class WebhookRefused(Exception):
    """The request does not verify. Its message is for a log, and never repeats the secret or the right signature."""

    def __init__(self, code: RefusalCode, message: str, header: str | None = None) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        # The header at fault, in lower case.
        self.header = header


@dataclass(frozen=True)
class Verified:
    # The parsed body. Its shape is what the sender promises; the signature says who sent it, not what is in it.
    payload: Any


@dataclass(frozen=True)
class VerifiedStandard(Verified):
    # webhook-id: the event's, the same on every attempt.
    id: str
    # webhook-timestamp: when this attempt was made.
    sent_at: datetime


def _header_of(headers: HeadersLike, name: str) -> str:
    pairs = headers.items() if hasattr(headers, "items") else headers
    values = [value for key, value in pairs if key.lower() == name]
    if not values:
        raise WebhookRefused("missing_header", f"There is no {name} header.", name)
    # Several of one name are joined (RFC 9110, 5.3): none of the headers read here may come twice, and none verifies then.
    return ", ".join(values)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _read_payload(body: RawBody) -> Any:
    try:
        # JSON between systems is UTF-8 (RFC 8259, 8.1): broken bytes are no JSON.
        return json.loads(bytes_of(body).decode(), parse_constant=_refuse_constant)
    except ValueError as error:
        raise WebhookRefused("malformed_body", "The signature is right, but the body is no JSON.") from error


def verify(raw_body: RawBody, headers: HeadersLike, secret: Secrets) -> Verified:
    """Verifies X-SERVICE-Signature and parses the body.

    Covers the body alone: a recorded request verifies for ever, and `webhook-id` is not protected. Raises WebhookRefused;
    TypeError for a parsed body, ValueError without a secret.
    """
    name = "x-service-signature"
    if not has_service_signature(raw_body, _header_of(headers, name), secret):
        raise WebhookRefused("bad_signature", f"{name} does not sign this body with this secret.", name)
    return Verified(_read_payload(raw_body))


def verify_standard(
    raw_body: RawBody,
    headers: HeadersLike,
    secret: Secrets,
    *,
    now: float | None = None,
    tolerance_seconds: int = 300,
) -> VerifiedStandard:
    """Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age, and parses the body.

    A repeated event verifies too. `now` is the clock in seconds; the machine's when None. Raises as `verify` does.
    """
    id, timestamp, signatures = (
        _header_of(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookRefused(
            "malformed_header", "webhook-timestamp is no number of seconds.", "webhook-timestamp"
        )
    if not has_standard_signature(raw_body, id, timestamp, signatures, secret):
        raise WebhookRefused(
            "bad_signature",
            "webhook-signature does not sign this request with this secret.",
            "webhook-signature",
        )
    # Whole seconds on both sides, as the specification's libraries count.
    age = int(time.time() if now is None else now) - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookRefused("too_old", f"It was sent {age} s ago.", "webhook-timestamp")
    if -age > tolerance_seconds:
        raise WebhookRefused(
            "too_new", f"It was sent {-age} s from now; compare the clocks.", "webhook-timestamp"
        )
    sent_at = datetime.fromtimestamp(int(timestamp), timezone.utc)
    return VerifiedStandard(_read_payload(raw_body), id, sent_at)
