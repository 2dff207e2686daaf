<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** Answer 2xx to the first two. InProgress: an earlier attempt is in progress, and may fail. */
enum Outcome: string
{
    case Kept = 'kept';
    case Duplicate = 'duplicate';
    case InProgress = 'in_progress';
}
