<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** The request does not verify. Its message is for a log, and never repeats the secret or the right signature. */
final class WebhookRefused extends \RuntimeException
{
    /** @param ?string $header the header at fault, in lower case */
    public function __construct(
        public readonly Refusal $refusal,
        string $message,
        public readonly ?string $header = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }
}
