<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** A request whose webhook-signature is valid. */
final class Webhook
{
    /**
     * @param mixed $payload the parsed body, with objects as arrays. Its structure is not checked: the signature
     *   proves the sender, not the content.
     * @param string $id the webhook-id: the id of the event, the same on every attempt
     * @param \DateTimeImmutable $sentAt the webhook-timestamp: the time of this attempt
     */
    public function __construct(
        public readonly mixed $payload,
        public readonly string $id,
        public readonly \DateTimeImmutable $sentAt,
    ) {
    }
}
