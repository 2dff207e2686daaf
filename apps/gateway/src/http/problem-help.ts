import { PROBLEMS, type ProblemKind } from '@leadwire/service-kit'

/** The meaning of each kind of problem, and what the caller can do about the problem. */
const HELP: Record<ProblemKind, [meaning: string, remedy: string]> = {
  'bad-request': [
    'The request could not be read.',
    'Correct the request. `detail` states the error, such as broken JSON, text that is not UTF-8, or an invalid header.',
  ],
  unauthenticated: [
    'The bearer token is missing, unknown, revoked or expired.',
    'Send `Authorization: Bearer` with a valid token. Create a token with `POST /manage/tokens`.',
  ],
  forbidden: [
    'The token lacks the scope that the operation needs, or may not be used from this origin.',
    'Use a token with the scope that `detail` names, or send the request from an allowed origin.',
  ],
  'account-suspended': [
    'The operator has suspended the account. All data is kept, and webhooks are held.',
    'Contact the operator. The tokens work again when the account is resumed.',
  ],
  'not-found': [
    'The path does not exist, or the record does not exist in the account.',
    'Check the path, and check that the token belongs to the right account.',
  ],
  'method-not-allowed': [
    'The path does not support this method.',
    'Use one of the methods in the Allow header.',
  ],
  timeout: [
    'The request did not arrive in time, or its body arrived slower than 1 KiB per second.',
    'Repeat the request over a faster connection. The request had no effect.',
  ],
  conflict: [
    'A request with the same Idempotency-Key is still in flight, or the state of the record does not allow the operation.',
    'If the response has Retry-After, wait that long and repeat the request. Otherwise check the record.',
  ],
  'lead-erased': [
    'The personal data of the lead was erased. An erased lead cannot be changed.',
    'If the person gets in touch again, create another lead.',
  ],
  gone: [
    'The cursor is not in the event log. Its events have been deleted, the database was restored to an earlier time, or the cursor is from another installation.',
    'Continue with `oldest_cursor`, and expect events that you have already read. Compare your records with the API.',
  ],
  'precondition-failed': [
    'The current ETag of the lead does not match If-Match. The request had no effect.',
    'Retrieve the lead, check whether your change still applies, and send the change with the new ETag.',
  ],
  'too-large': ['The body or the file is too large.', 'Send less data. `detail` states the limit.'],
  'unsupported-media-type': [
    'The operation does not accept this Content-Type.',
    'Send JSON or a form, in UTF-8 and uncompressed. Send files as `multipart/form-data`.',
  ],
  'expectation-failed': [
    'The API does not support the value of the Expect header.',
    'Omit the header, or send `100-continue`.',
  ],
  invalid: [
    'The request contains invalid data. `errors` lists every invalid field.',
    'Correct the fields. Each message states the valid values.',
  ],
  'rate-limited': [
    'The token has sent more requests than the operator allows, or the account has too many uploads, exports, event streams or forms with files in flight. For a publishable or an invalid token, the limit applies to the IP address. The request had no effect.',
    'Wait as long as Retry-After states, and repeat the request. RateLimit in each response states the remaining quota.',
  ],
  'headers-too-large': ['The headers are larger than 16 KiB.', 'Send fewer or shorter headers.'],
  internal: ['An internal error occurred.', 'Report the `request_id` to the operator.'],
  unavailable: [
    'A service behind the API is temporarily unavailable.',
    'Wait as long as Retry-After states, and repeat the request. A create is safe to repeat with an `Idempotency-Key`.',
  ],
  late: [
    'A service behind the API did not respond in time.',
    'Repeat the request. A write may have taken effect: repeat it with the same `Idempotency-Key`.',
  ],
}

/** All kinds of problems with status, title and help, for the page `/problems` and the OpenAPI document. */
export const DOCUMENTED_PROBLEMS = Object.fromEntries(
  Object.entries(HELP).map(([kind, [meaning, remedy]]) => [
    kind,
    { ...PROBLEMS[kind as ProblemKind], meaning, remedy },
  ]),
) as { [Kind in ProblemKind]: (typeof PROBLEMS)[Kind] & { meaning: string; remedy: string } }
