<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** The README explains each case. With TooOld, TooNew and MalformedBody the signature is valid. */
enum Refusal: string
{
    case MissingHeader = 'missing_header';
    case MalformedHeader = 'malformed_header';
    case BadSignature = 'bad_signature';
    case TooOld = 'too_old';
    case TooNew = 'too_new';
    case MalformedBody = 'malformed_body';
}
