"""Verifies the webhooks that Leadwire sends."""

from .bounded_store import BoundedStore, Outcome
from .signatures import (
    has_service_signature,
    has_standard_signature,
    service_signature,
    standard_signature,
)
from .verify import RefusalCode, Verified, VerifiedStandard, WebhookRefused, verify, verify_standard

__all__ = [
    "BoundedStore",
    "Outcome",
    "RefusalCode",
    "Verified",
    "VerifiedStandard",
    "WebhookRefused",
    "has_service_signature",
    "has_standard_signature",
    "service_signature",
    "standard_signature",
    "verify",
    "verify_standard",
]
