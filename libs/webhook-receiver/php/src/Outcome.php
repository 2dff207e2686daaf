<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/**
 * The outcome of a webhook. Respond with 2xx to Kept and Duplicate, and with 409 to InProgress: an earlier
 * attempt is still in progress and may fail.
 */
enum Outcome: string
{
    case Kept = 'kept';
    case Duplicate = 'duplicate';
    case InProgress = 'in_progress';
}
