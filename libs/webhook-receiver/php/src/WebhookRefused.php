<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** The request is refused. The message is for a log. It never contains the secret or the expected signature. */
final class WebhookRefused extends \RuntimeException
{
    /** @param ?string $header the name of the missing or invalid header, in lower case */
    public function __construct(
        public readonly Refusal $refusal,
        string $message,
        public readonly ?string $header = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }
}
