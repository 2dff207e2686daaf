import { type ProblemKind, PROBLEMS as STATUSES } from '@leadwire/service-kit'

const HELP: Record<ProblemKind, { meaning: string; mend: string }> = {
  'bad-request': {
    meaning: 'The request could not be read.',
    mend: '`detail` says what is wrong with it: broken JSON, text that is not UTF-8, a header that is no good. Correct it.',
  },
  unauthenticated: {
    meaning: 'The bearer token is missing, unknown, revoked or expired.',
    mend: 'Send `Authorization: Bearer` with a token that is valid. `POST /manage/tokens` makes one.',
  },
  forbidden: {
    meaning: 'The token lacks the scope that the operation needs.',
    mend: 'Use a token with the scope that `detail` names.',
  },
  'account-suspended': {
    meaning: 'The operator has suspended the account. Nothing of it is lost; its webhooks are held.',
    mend: 'Ask the operator. The tokens work again when the account is resumed.',
  },
  'not-found': {
    meaning: 'There is nothing at this address, or nothing that belongs to the account.',
    mend: 'Look at the address, and at the account that the token belongs to.',
  },
  'method-not-allowed': {
    meaning: 'The address exists; the Allow header names the methods it takes.',
    mend: 'Use one of these.',
  },
  timeout: {
    meaning: 'The request did not arrive in time.',
    mend: 'Send it again. Nothing was done of it.',
  },
  conflict: {
    meaning:
      'A request with the same Idempotency-Key is still being worked on, or the state of the record forbids it.',
    mend: 'Wait as long as Retry-After says, where it is there, and send it again. Otherwise check the record.',
  },
  'lead-erased': {
    meaning:
      'The personal data of the lead was erased. Nothing of the lead changes any more, and nothing is added to it.',
    mend: 'Create another lead, if the person came again.',
  },
  'precondition-failed': {
    meaning: 'The lead is no longer what If-Match names: it was changed. Nothing was done.',
    mend: 'Retrieve it, check whether your change still fits, and send it with the new ETag.',
  },
  'too-large': {
    meaning: 'The body or the file is too large.',
    mend: '`detail` names the limit. Send less.',
  },
  'unsupported-media-type': {
    meaning: 'The operation does not read bodies of this Content-Type.',
    mend: 'Send JSON or a form, and files as `multipart/form-data`, in UTF-8 and not compressed.',
  },
  'expectation-failed': {
    meaning: 'The Expect header asks for what the API does not know.',
    mend: 'Leave it out, or send `100-continue`.',
  },
  invalid: {
    meaning: 'The request could be read, but its data is invalid: `errors` lists every invalid field.',
    mend: 'Correct the fields. Each message says what may stand there.',
  },
  'rate-limited': {
    meaning:
      'The token has sent more requests than the operator allows, or the account has as much in flight as it may: uploads, exports, streams of events. Nothing was done.',
    mend: 'Wait as long as Retry-After says, and send it again. RateLimit in each response says how much is left.',
  },
  'headers-too-large': {
    meaning: 'The headers are larger than 16 KiB.',
    mend: 'Send fewer or shorter headers.',
  },
  internal: {
    meaning: 'Something went wrong on our side.',
    mend: 'Tell the operator the `request_id`.',
  },
  unavailable: {
    meaning: 'Something behind the API is unavailable for a moment; Retry-After says when to try again.',
    mend: 'Try again then. A create is safe to repeat with an `Idempotency-Key`.',
  },
  late: {
    meaning: 'Something behind the API did not answer in time.',
    mend: 'Try again. A write may have been done: repeat it with the same `Idempotency-Key`.',
  },
}

const KINDS = Object.keys(HELP) as ProblemKind[]

/** Every kind of problem: its status and title, what it means, and what a caller can do about it. */
export const PROBLEMS = Object.fromEntries(
  KINDS.map((kind) => [kind, { ...STATUSES[kind], ...HELP[kind] }]),
) as { [Kind in ProblemKind]: (typeof STATUSES)[Kind] & { meaning: string; mend: string } }
