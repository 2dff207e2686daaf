<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** A request that verified by webhook-signature. */
final class Webhook
{
    /**
     * @param mixed $payload the parsed body, objects as arrays. Its shape is what the sender promises; the signature says who
     *   sent it, not what is in it.
     * @param string $id webhook-id: the event's, the same on every attempt
     * @param \DateTimeImmutable $sentAt webhook-timestamp: when this attempt was made
     */
    public function __construct(
        public readonly mixed $payload,
        public readonly string $id,
        public readonly \DateTimeImmutable $sentAt,
    ) {
    }
}
